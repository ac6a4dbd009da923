/**
 * Background jobs and schedules on MongoDB.
 * @module remex/jobs
 */

export type { Job, JobFunction, JobHandler, JobParams, Recurrence } from './job-handlers.ts'
export type { JobRecord } from './job-store.ts'
export type { JobCounts } from './job-worker.ts'
export type { DataOf, EnqueueOptions, JobData, JobName, JobService, JobsOptions } from './jobs.ts'
export { jobs } from './jobs.ts'
