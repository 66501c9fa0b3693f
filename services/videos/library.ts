import { expireVideos } from '../media/rows.ts'
import type { Store, Value } from '../store/store.ts'
import { withdrawWebhooks } from './webhooks/webhook-rows.ts'
import type { Job } from './job.ts'
import { columnsWithoutFrames, toJob, type JobRow } from './job-row.ts'

export interface VideoListRequest {
  /** The id of the last video of the page before; null: the first page. */
  after: string | null
  limit: number
  order: 'asc' | 'desc'
}

/** Reads and deletes the videos of accounts by their ids. Methods throw StoreUnavailable. */
export function createVideoLibrary (store: Store) {
  const shown = columnsWithoutFrames(store.engine)

  async function get (account: string, id: string): Promise<Job | undefined> {
    const row = await store.get<JobRow>(
      `select ${shown} from job where id = $1 and account = $2 and deleted_at is null`, [id, account])
    return row && toJob(row)
  }

  return {
    /** A video of an account, without the pictures of its task; undefined if it has none with that id. */
    get,

    /** One page of the videos of an account; null if it has none with the id `after`. */
    async list (
      account: string, { after, limit, order }: VideoListRequest
    ): Promise<{ jobs: Job[], hasMore: boolean } | null> {
      const params: Value[] = [account, limit + 1]
      let beyond = ''
      if (after !== null) {
        const last = await get(account, after)
        if (last === undefined) return null
        params.push(last.createdAt, last.id)
        beyond = `and (created_at, id) ${order === 'desc' ? '<' : '>'} ($3, $4)`
      }
      const rows = await store.all<JobRow>(`
        select ${shown} from job where account = $1 and deleted_at is null ${beyond}
        order by created_at ${order}, id ${order} limit $2`, params)
      return { jobs: rows.slice(0, limit).map(toJob), hasMore: rows.length > limit }
    },

    /**
     * Deletes a video with its files; false if the account has none with that id. A job that still runs ends
     * like one that no client waits for, and its name is free.
     */
    async remove (account: string, id: string): Promise<boolean> {
      const nowMs = store.clock()
      return await store.transaction(async queries => {
        const removed = await queries.run(`
          update job set deleted_at = $3, dedupe = null
          where id = $1 and account = $2 and deleted_at is null`, [id, account, nowMs])
        if (removed === 1) {
          await expireVideos(queries, id, nowMs)
          await withdrawWebhooks(queries, id)
        }
        return removed === 1
      })
    },

    /** Records that a client has received the whole video. */
    async received (id: string): Promise<void> {
      await store.run('update job set delivered = 1 where id = $1 and delivered = 0', [id])
    }
  }
}
