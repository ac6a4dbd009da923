import type { FastifyApplication } from 'remex'

/** The services by path. Each file of a service adds its own. */
// biome-ignore lint/suspicious/noEmptyInterface: a type alias could not be extended
export interface Services {}

export type Api = FastifyApplication<Services>
