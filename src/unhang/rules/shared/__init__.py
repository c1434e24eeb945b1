"""What the families of rules share: each module decides one question for all of them."""
