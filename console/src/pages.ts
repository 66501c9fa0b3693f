import type { FunctionComponent } from 'preact'
import { isUser, may, type Permission } from './session.ts'
import { AccountsPage } from './pages/accounts.tsx'
import { AlertsPage } from './pages/alerts.tsx'
import { AuditPage } from './pages/audit.tsx'
import { JobsPage } from './pages/jobs.tsx'
import { KeysPage } from './pages/keys.tsx'
import { MediaPage } from './pages/media.tsx'
import { NowPage } from './pages/now.tsx'
import { PlaygroundPage } from './pages/playground.tsx'
import { ProvidersPage } from './pages/providers.tsx'
import { RequestsPage } from './pages/requests.tsx'
import { StatementsPage } from './pages/statements.tsx'
import { UsagePage } from './pages/usage.tsx'

export interface ConsolePage {
  /** The first segment of its path. */
  path: string
  title: string
  /** The letter that goes to it after `g`. */
  letter: string
  /** What an operator needs to see it. */
  needs: Permission
  /** Whether an ordinary key may see it, for its own account. */
  forUsers: boolean
  component: FunctionComponent
}

/** The pages in the order of the menu. */
export const pages: readonly ConsolePage[] = [
  { path: 'now', title: 'Now', letter: 'n', needs: 'read', forUsers: false, component: NowPage },
  { path: 'requests', title: 'Requests', letter: 'r', needs: 'read', forUsers: true, component: RequestsPage },
  { path: 'playground', title: 'Playground', letter: 'p', needs: 'read', forUsers: true, component: PlaygroundPage },
  { path: 'usage', title: 'Usage', letter: 'u', needs: 'read', forUsers: true, component: UsagePage },
  { path: 'accounts', title: 'Accounts', letter: 'a', needs: 'read', forUsers: true, component: AccountsPage },
  { path: 'keys', title: 'Keys', letter: 'e', needs: 'read', forUsers: true, component: KeysPage },
  { path: 'statements', title: 'Statements', letter: 's', needs: 'read', forUsers: false, component: StatementsPage },
  { path: 'media', title: 'Media', letter: 'm', needs: 'read', forUsers: true, component: MediaPage },
  { path: 'jobs', title: 'Jobs', letter: 'b', needs: 'read', forUsers: true, component: JobsPage },
  { path: 'providers', title: 'Providers', letter: 'v', needs: 'read', forUsers: false, component: ProvidersPage },
  { path: 'alerts', title: 'Alerts', letter: 'l', needs: 'read', forUsers: false, component: AlertsPage },
  { path: 'audit', title: 'Audit', letter: 'd', needs: 'read', forUsers: false, component: AuditPage }
]

/** The pages that the signed-in key may see. */
export function pagesInReach (): readonly ConsolePage[] {
  return pages.filter(({ needs, forUsers }) => isUser() ? forUsers : may(needs))
}
