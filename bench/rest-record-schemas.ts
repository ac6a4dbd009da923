import type { ServiceOptions } from 'remex'
import { querySyntax, Type } from 'remex/schema'

const Text = Type.String()
const RecordSchema = Type.Object({
  id: Text,
  name: Text,
  email: Text,
  age: Type.Integer(),
  active: Type.Boolean(),
  address: Type.Object({ street: Text, city: Text, zip: Text }),
  tags: Type.Array(Text),
  createdAt: Text,
})

/** Schemas of all that `records` takes and answers. */
export const RECORD_SCHEMAS: NonNullable<ServiceOptions['schemas']> = {
  entity: RecordSchema,
  create: Type.Omit(RecordSchema, ['id']),
  query: querySyntax(RecordSchema),
}
