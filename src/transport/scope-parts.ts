import type { FastifyInstance } from 'fastify'
import type { AnyApplication } from '../core/index.ts'
import type { RestOptions } from './rest-options.ts'
import type { RestTransport } from './rest-transport.ts'

/** What an application adds to the scope of its services, beside them: a page for example. */
export interface ScopePart {
  /** Called before the scope is made. */
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

/** Where an application keeps what it adds. */
const PARTS: unique symbol = Symbol('remex.scopeParts')

interface WithParts {
  [PARTS]?: readonly ScopePart[]
}

/** Has an application add something to the scope of its services, whatever server they get. */
export function addScopePart(app: object, part: ScopePart): void {
  Object.assign(app, { [PARTS]: [...listScopeParts(app), part] })
}

/** Returns what an application adds to the scope of its services. Plugins may be given none. */
export function listScopeParts(app: object | undefined): readonly ScopePart[] {
  return (app as WithParts | undefined)?.[PARTS] ?? []
}
