"""The state that runs with ``--state`` leave for later ones: on a disk, or on a store."""
