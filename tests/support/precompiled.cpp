// Nothing of its own: compiled with the headers that tests of other programs reuse.
