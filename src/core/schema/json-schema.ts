/** The keywords of a JSON Schema; `undefined` for the ones that it lacks. */
export type Keywords = Readonly<Record<string, unknown>>
