import type { FastifyInstance } from 'fastify'
import type { AnyApplication } from '../core/index.ts'
import type { RestOptions } from './rest-options.ts'
import type { RestTransport } from './rest-transport.ts'

/** An addition of an application to the scope of its services: for example a page. */
export interface ScopePart {
  /** Called before the scope is created. */
  readonly prepare?: (
    server: FastifyInstance,
    app: AnyApplication,
    options: RestOptions,
  ) => Promise<void>
  /** Called before the services get their routes. */
  readonly addBefore?: (scope: FastifyInstance, transport: RestTransport) => Promise<void>
  /** Called when the services have their routes. */
  readonly addAfter?: (scope: FastifyInstance, transport: RestTransport) => void
}

/** The key of an application's additions. */
const PARTS: unique symbol = Symbol('remex.scopeParts')

interface WithParts {
  [PARTS]?: readonly ScopePart[]
}

/** Adds something to the scope of an application's services, whatever server serves them. */
export function addScopePart(app: object, part: ScopePart): void {
  Object.assign(app, { [PARTS]: [...listScopeParts(app), part] })
}

/** Returns the additions of an application. Plugins may be registered without an application. */
export function listScopeParts(app: object | undefined): readonly ScopePart[] {
  return (app as WithParts | undefined)?.[PARTS] ?? []
}
