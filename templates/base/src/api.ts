import type { FastifyApplication } from 'remex'

/** The services by path. Each file of a service adds its own. */
export interface Services {}

export type Api = FastifyApplication<Services>
