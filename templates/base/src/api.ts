import type { FastifyApplication } from 'remex'

/** The services by their paths. Each adds itself in its own file. */
export interface Services {}

export type Api = FastifyApplication<Services>
