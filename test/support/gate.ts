interface Expected {
  readonly count: number
  readonly resolve: () => void
}

/**
 * A place that calls come to and wait at, until the test lets them go on: what is in flight is known
 * then, on a machine of any speed.
 */
export class Gate {
  /** How many have come so far. */
  arrived = 0
  readonly #opened: Promise<void>
  #open: () => void = () => undefined
  #expected: Expected[] = []

  constructor() {
    this.#opened = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  /** Waits until the gate is open; resolves to what was handed in. */
  async pass<T = void>(value?: T): Promise<T> {
    this.arrived += 1
    for (const { count, resolve } of this.#expected) if (count <= this.arrived) resolve()
    await this.#opened
    return value as T
  }

  /** Resolves as soon as so many have come. */
  async arrivals(count: number): Promise<void> {
    if (this.arrived >= count) return
    await new Promise<void>((resolve) => this.#expected.push({ count, resolve }))
  }

  /** Lets all go on, those too that are still to come. */
  open(): void {
    this.#open()
  }
}
