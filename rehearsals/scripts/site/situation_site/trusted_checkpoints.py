"""RecBole's checkpoints are loaded as trusted files.

They hold its Config, which torch >= 2.6 refuses to load by default.
"""

AFTER = "torch"


def apply(module, settings):
    """Load with `weights_only=False` where the caller does not say."""
    real = module.load

    def load(f, *args, **kwargs):
        return real(f, *args, **{"weights_only": False, **kwargs})

    module.load = load
