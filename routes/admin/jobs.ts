import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AdminJob, AdminJobList, AdminJobWithTimeline, JobQuery } from '../../schemas/admin/jobs.ts'
import { ById } from '../../schemas/admin/shared.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { cancelJob, getJobWithTimeline, listJobs } from '../../services/operations/admin/jobs.ts'
import { toPageRequest } from './query.ts'

/** `GET /admin/jobs`, `GET /admin/jobs/:id` and `POST /admin/jobs/:id/cancel`. */
const jobs: FastifyPluginAsyncTypebox = async app => {
  const one = { params: ById, response: { 200: AdminJob, ...errorResponses } }

  app.get('/jobs', {
    config: { permission: 'read', ownAccount: 'query' },
    schema: {
      summary: 'List the jobs of video models, newest first',
      querystring: JobQuery,
      response: { 200: AdminJobList, ...errorResponses }
    }
  }, async ({ query, administration }) => {
    const { search, account, model, state, delivered } = query
    const filter = { search, account, model, state, delivered }
    return await listJobs(administration, { ...toPageRequest(query), ...filter })
  })

  app.get('/jobs/:id', {
    config: { permission: 'read', ownAccount: 'handler' },
    schema: {
      summary: 'Show a job and the times of its steps',
      params: ById,
      response: { 200: AdminJobWithTimeline, ...errorResponses }
    }
  }, async ({ params, administration }) => await getJobWithTimeline(administration, params.id))

  app.post('/jobs/:id/cancel', {
    config: { permission: 'operate' },
    schema: { summary: 'Cancel a job; its client pays nothing', ...one }
  }, async ({ params, administration }) => await cancelJob(administration, params.id))
}

export default jobs
