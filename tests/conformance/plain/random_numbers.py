"""Random numbers of a sample: docs/order.md, "Random numbers of a sample"."""

import struct

from plain.hashes import MASK, hash128, number_bytes, text_bytes

WORD = 2**32 - 1


def philox(counter, key):
    """Philox4x32-10: four words for a counter of four words, under a key of two."""
    c, (k0, k1) = list(counter), key
    for _ in range(10):
        low, high = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(high >> 32) ^ c[1] ^ k0, high & WORD, (low >> 32) ^ c[3] ^ k1, low & WORD]
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return c


class Rng:
    def __init__(self, stream, sample_key):
        self.key, self.sample_key = (stream & WORD, stream >> 32), sample_key
        self.block, self.words = 0, []

    def word(self):
        if not self.words:
            self.words = philox((self.block & WORD, self.block >> 32, self.sample_key & WORD, self.sample_key >> 32), self.key)
            self.block += 1
        return self.words.pop(0)

    def bits64(self):
        low = self.word()
        return low | self.word() << 32

    def below(self, n):
        while True:
            x = self.bits64()
            if x >= 2**64 % n:
                return x % n


def map_stream(seed, name, ordinal):
    data = text_bytes("map") + number_bytes(seed) + text_bytes(name) + number_bytes(ordinal)
    return hash128(data) & MASK


def sample_key_of(source, epoch, repeat_pass, record):
    return hash128(struct.pack("<4Q", source, epoch, repeat_pass, record)) & MASK
