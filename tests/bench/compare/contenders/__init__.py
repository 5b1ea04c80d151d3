"""The contenders: one module each, run as a process of its own (`python -m contenders.NAME`)."""
