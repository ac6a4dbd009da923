const MAX_LENGTH = 50

/** Returns a name from a request in quotes for an error message, cut after 50 characters. */
export function quoteName(name: string): string {
  // A cut may go through the middle of a character.
  return name.length <= MAX_LENGTH ? `'${name}'` : `'${name.slice(0, MAX_LENGTH).toWellFormed()}…'`
}
