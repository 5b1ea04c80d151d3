// Empty: compiled with the precompiled headers that the tests of other programs reuse.
