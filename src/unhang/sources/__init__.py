"""From bytes to lines: discover artifacts, open them safely, peel prefixes, rejoin wrapped text."""
