"""RecBole 1.2.1 touches names that numpy 2 has dropped: they are put back as aliases."""

AFTER = "numpy"


def apply(module, settings):
    """Give back the names that are gone."""
    aliases = {
        "float": float,
        "int": int,
        "object": object,
        "str": str,
        "float_": module.float64,
        "complex_": module.complex128,
        "object_": object,
        "unicode_": module.str_,
        "NaN": module.nan,
        "Inf": module.inf,
    }
    for name, meaning in aliases.items():
        if name not in vars(module):
            setattr(module, name, meaning)
