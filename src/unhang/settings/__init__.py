"""What is known of NCCL, PyTorch and framework settings, by version."""
