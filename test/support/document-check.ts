import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { OpenApiDocument } from '../../src/transport/index.ts'
import type { Answer } from './http.ts'

type Responses = Readonly<Record<string, { readonly $ref?: string }>>

/** The part of a tap test that is needed here. */
interface Assertions {
  match(found: unknown, wanted: object): unknown
  ok(value: unknown, message: string): unknown
}

/** Asserts that an answer is one of those that the document has for an operation. */
type Check = (
  place: string,
  verb: string,
  answer: Pick<Answer, 'status' | 'body' | 'headers'>,
) => void

/** Returns what checks answers by a document. */
export function createCheck(t: Assertions, document: OpenApiDocument): Check {
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  ajv.addSchema(document, 'document')
  return (place, verb, { status, body, headers }) => {
    const operation = document.paths[place]?.[verb] as { readonly responses: Responses } | undefined
    const responses = operation?.responses ?? {}
    const code = Object.hasOwn(responses, status) ? String(status) : 'default'
    const path = encodeURIComponent(place.replaceAll('/', '~1'))
    const own = responses[code]?.$ref ?? `#/paths/${path}/${verb}/responses/${code}`
    t.match(headers, { 'content-type': 'application/json; charset=utf-8' })
    const check = ajv.getSchema(`document${own}/content/application~1json/schema`)
    t.ok(check?.(body), `${status} of ${verb} ${place}: ${ajv.errorsText(check?.errors)}`)
  }
}
