// Fields of records of several services.
import type { HookContext } from 'remex'
import { ObjectIdSchema } from 'remex/mongodb'
import { resolve, Type } from 'remex/schema'

export const Id = ObjectIdSchema()

export const Email = Type.String({ format: 'email', maxLength: 254 })

/** A string of one or more lines that is not blank. */
export function toText(maxLength: number) {
  return Type.String({ pattern: '\\S', maxLength })
}

/** `Ann@example.org` and `ann@example.org` are one account, at sign-up and at login. */
export const lowerEmail = resolve<{ email?: unknown }, HookContext>({
  email: (email) => (typeof email === 'string' ? email.toLowerCase() : email),
})
