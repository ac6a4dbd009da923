const PLAIN = { enumerable: true, configurable: true, writable: true }

/** Sets a property of an object, whatever its name is: `__proto__` as an own one, too. */
export function setOwnProperty(
  object: Record<string, unknown>,
  name: string,
  value: unknown,
): void {
  if (name !== '__proto__') object[name] = value
  // An assignment would set the prototype.
  else Object.defineProperty(object, name, { ...PLAIN, value })
}
