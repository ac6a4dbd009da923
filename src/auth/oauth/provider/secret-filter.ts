import { isNonEmptyString } from '../../../core/value-kind.ts'

const HIDDEN = '[secret]'

/** Secrets of a login, which are cut out of what a provider says about it. */
export class SecretFilter {
  readonly #secrets = new Set<string>()

  /** Adds those of the values that are strings. */
  add(...values: readonly unknown[]): void {
    for (const value of values.filter(isNonEmptyString)) {
      this.#secrets.add(value)
      // As it stands in the form that a provider has received.
      this.#secrets.add(new URLSearchParams([['', value]]).toString().slice(1))
    }
  }

  /** Returns a text without the secrets. */
  cut(text: string): string {
    if (this.#secrets.size === 0) return text
    // The longest first: another may be a part of it.
    const patterns = [...this.#secrets].sort((a, b) => b.length - a.length).map(escapePattern)
    return text.replace(new RegExp(patterns.join('|'), 'g'), HIDDEN)
  }
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
