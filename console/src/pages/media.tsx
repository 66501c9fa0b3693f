import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { AdminMedia } from '../../../schemas/admin/media.ts'
import { useList } from '../api/list.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { CsvButton, type Column } from '../parts/table.tsx'
import { ChoiceFilter, TextFilter } from '../parts/filter.tsx'
import { Empty, Failure, Loading } from '../parts/states.tsx'
import { Time } from '../parts/time.tsx'
import { link, query } from '../router.ts'
import { isUser } from '../session.ts'

/** The images and videos that the gateway keeps. */
export function MediaPage (): JSX.Element {
  const { account, kind } = query.value
  const { rows, state, error, hasMore, more, reload } = useList<AdminMedia>('/admin/media', { account, kind })
  return (
    <>
      <div class='head'>
        <h1>Media</h1>
        <button type='button' class='plain' onClick={() => reload()}>Refresh</button>
      </div>
      <div class='filters'>
        {!isUser() && <TextFilter name='account' label='Account' />}
        <ChoiceFilter name='kind' label='Kind' all='Any' options={['image', 'video']} />
      </div>
      {rows.length === 0 && state === 'loading' && <Loading />}
      {rows.length === 0 && state === 'ready' && (
        <Empty title={account === undefined && kind === undefined ? 'Nothing is kept' : 'Nothing matches'}><p>Images and videos stay here until they expire. Make one in the <a href={link('playground', { kind: 'image' })}>playground</a>.</p></Empty>
      )}
      <ul class='gallery'>{rows.map(item => <Item key={item.id} item={item} />)}</ul>
      {state === 'failed' && <Failure error={error} retry={reload} />}
      {rows.length > 0 && (
        <div class='actions'>
          {hasMore && <button type='button' onClick={() => more()}>Show more</button>}
          <CsvButton path='/admin/media' query={{ account, kind }} name='media' columns={columns} />
        </div>
      )}
    </>
  )
}

function Item ({ item }: { item: AdminMedia }): JSX.Element {
  const { id, kind, url, account, job, width, height, bytes, created_at: at, expires_at: until } = item
  const [isGone, setGone] = useState(false)
  const size = width === null || height === null ? '' : `${width} × ${height} px, `
  return (
    <li>
      {isGone
        ? <p class='muted'>The file is no longer there.</p>
        : kind === 'image'
          ? <a href={url} target='_blank' rel='noreferrer'><img src={url} alt={`Image ${id}`} loading='lazy' onError={() => setGone(true)} /></a>
          : <video src={url} controls preload='metadata' aria-label={`Video ${id}`} onError={() => setGone(true)} />}
      <p>{kind === 'image' ? 'Image' : 'Video'}, {size}<span title={`${bytes.toLocaleString('en-US')} bytes`}>{Math.ceil(bytes / 1024).toLocaleString('en-US')} KB</span></p>
      <p class='muted'>
        Made <Time at={at} />{!isUser() && <> for <a href={link('accounts', account)}>{account}</a></>}
        {job !== null && <> by <a href={link('jobs', job)}>a job</a></>}<br />
        Kept until <Time at={until} />
      </p>
      <CopyButton text={url} label='Copy link' />
    </li>
  )
}

const columns: readonly Column<AdminMedia>[] = [
  { name: 'Id', csv: ({ id }) => id },
  { name: 'Kind', csv: ({ kind }) => kind },
  { name: 'Account', csv: ({ account }) => account },
  { name: 'Job', csv: ({ job }) => job },
  { name: 'Bytes', csv: ({ bytes }) => bytes },
  { name: 'Created', csv: ({ created_at: at }) => at },
  { name: 'Expires', csv: ({ expires_at: at }) => at }
]
