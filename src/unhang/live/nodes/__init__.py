"""Several nodes, one judge: who leads, and how reports and instructions travel."""
