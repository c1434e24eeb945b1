"""From a cause and a framework to fixes in that framework's own syntax."""
