// Writes the types of an OpenAPI document that comes by standard input. The generator needs the
// JavaScript API of an older TypeScript than the one of the project: hence a workspace of its own.
import { text } from 'node:stream/consumers'
import openapiTypes, { astToString } from 'openapi-typescript'

const document = JSON.parse(await text(process.stdin))
// Callers may leave fields with a default out.
process.stdout.write(astToString(await openapiTypes(document, { defaultNonNullable: false })))
