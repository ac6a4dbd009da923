import type { Ajv } from 'ajv'
import type { Ajv2019 } from 'ajv/dist/2019.js'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import type { FormatName, FormatsPluginOptions } from 'ajv-formats'
import ajvFormats from 'ajv-formats'

/** An Ajv of one of the dialects of JSON Schema. */
export type AnyAjv = Ajv | Ajv2019 | Ajv2020

/**
 * The formats that schemas may name. Of those of `ajv-formats` there is no `url`, the expression of
 * which takes the square of the length of a string (`uri` is there), and no `regex`, which compiles what
 * callers send.
 */
export const FORMATS: readonly FormatName[] = [
  ...(['date', 'time', 'date-time', 'iso-time', 'iso-date-time', 'duration'] as const),
  ...(['uri', 'uri-reference', 'uri-template', 'email', 'hostname', 'ipv4', 'ipv6'] as const),
  ...(['uuid', 'json-pointer', 'json-pointer-uri-fragment', 'relative-json-pointer'] as const),
  ...(['int32', 'int64', 'float', 'double', 'password', 'binary'] as const),
]

/** The format `byte`. That of `ajv-formats` looks at one line alone and takes any others beside it. */
export const BASE64: RegExp = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * Adds formats of the package `ajv-formats` to an Ajv of your own, and returns the Ajv.
 * @param formats their names, or the options of that package. Default: those that the Ajv of Remex has
 */
export function addFormats<A extends AnyAjv>(ajv: A, formats?: FormatsPluginOptions): A {
  ajvFormats.default(ajv, formats ?? [...FORMATS])
  if (formats === undefined) ajv.addFormat('byte', BASE64)
  return ajv
}
