"""The command ``bneuralt paper``, which the program finds by an entry point."""
