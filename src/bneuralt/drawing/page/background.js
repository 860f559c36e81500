// Work in slices of a few milliseconds, so that the page answers in between.

const SLICE = 8; // milliseconds

export class Background {
  constructor(signal) {
    this.work = new Map();
    this.timer = null;
    signal.addEventListener("abort", () => this.work.clear());
  }

  /** Run a generator until it ends; one of the same name that has not ended is dropped. */
  start(name, generator) {
    this.work.delete(name);
    this.work.set(name, generator);
    this.slice();
  }

  get isBusy() {
    return this.work.size > 0;
  }

  slice() {
    clearTimeout(this.timer);
    const ends = performance.now() + SLICE;
    while (this.work.size && performance.now() < ends) {
      const [[name, generator]] = this.work;
      if (generator.next().done && this.work.get(name) === generator) this.work.delete(name);
    }
    if (this.work.size) this.timer = setTimeout(() => this.slice(), 0);
  }
}
