"""From an incident to the verdict: findings of all rules, ranked, confirmed or doubted, told."""
