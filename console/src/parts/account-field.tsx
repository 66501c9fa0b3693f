import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Account } from '../../../schemas/admin/accounts.ts'
import { call } from '../api/fetch.ts'
import type { Page } from '../api/list.ts'
import { Field } from './field.tsx'

interface AccountFieldProps {
  label: string
  value: string
  onValue (value: string): void
  hint?: string
}

const pauseMs = 150

/** The id of an account, with those offered that begin with what is typed. */
export function AccountField (props: AccountFieldProps): JSX.Element {
  const [offered, setOffered] = useState<readonly Account[]>([])
  const search = props.value.trim()
  useEffect(() => {
    const controller = new AbortController()
    const timer = setTimeout(() => {
      // What cannot be offered can be typed.
      call<Page<Account>>('/admin/accounts', { query: { search, limit: '8' }, signal: controller.signal })
        .then(({ data }) => setOffered(data)).catch(() => setOffered([]))
    }, pauseMs)
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [search])
  return <Field {...props} required autocomplete='off' options={offered.map(({ id, name }) => [id, name])} />
}
