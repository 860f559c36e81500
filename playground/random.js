// Random numbers from a seed (sfc32).

export class Random {
  constructor(seed) {
    const start = [seed >>> 0, Math.floor(seed / 4294967296) >>> 0, 0x9e3779b9, 1];
    [this.a, this.b, this.c, this.d] = start;
    for (let i = 0; i < 16; i++) this.bits();
  }

  bits() {
    const t = (this.a + this.b + this.d) | 0;
    this.d = (this.d + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = ((this.c << 21) | (this.c >>> 11)) + t;
    return t >>> 0;
  }

  /** A number from 0 to 1, without 1. */
  number() {
    return this.bits() / 4294967296;
  }

  /** A whole number from low to high, both included. */
  whole(low, high) {
    return low + Math.floor(this.number() * (high - low + 1));
  }

  shuffled(values) {
    const copy = Array.from(values);
    for (let i = copy.length - 1; i > 0; i--) {
      const j = this.whole(0, i);
      [copy[i], copy[j]] = [copy[j], copy[i]];
    }
    return copy;
  }
}
