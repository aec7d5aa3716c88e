CREATE TABLE IF NOT EXISTS users (
  id INTEGER PRIMARY KEY AUTOINCREMENT, login TEXT NOT NULL, login_key TEXT NOT NULL UNIQUE,
  name TEXT, type TEXT NOT NULL DEFAULT 'User', site_admin INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS tokens (
  id INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL UNIQUE, user_id INTEGER NOT NULL,
  kind TEXT NOT NULL, installation_id INTEGER, permissions TEXT, repositories TEXT,
  expires_at REAL, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS repos (
  id INTEGER PRIMARY KEY AUTOINCREMENT, owner_id INTEGER NOT NULL, name TEXT NOT NULL,
  name_key TEXT NOT NULL, private INTEGER NOT NULL DEFAULT 0, description TEXT,
  default_branch TEXT NOT NULL DEFAULT 'main', archived INTEGER NOT NULL DEFAULT 0,
  has_issues INTEGER NOT NULL DEFAULT 1, parent_id INTEGER, settings TEXT NOT NULL DEFAULT '{}',
  next_number INTEGER NOT NULL DEFAULT 1, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
  pushed_at TEXT NOT NULL, UNIQUE (owner_id, name_key));
CREATE TABLE IF NOT EXISTS renames (
  owner_id INTEGER NOT NULL, name_key TEXT NOT NULL, repo_id INTEGER NOT NULL,
  PRIMARY KEY (owner_id, name_key));
CREATE TABLE IF NOT EXISTS collaborators (
  repo_id INTEGER NOT NULL, user_id INTEGER NOT NULL, role TEXT NOT NULL,
  PRIMARY KEY (repo_id, user_id));
CREATE TABLE IF NOT EXISTS protections (
  repo_id INTEGER NOT NULL, branch TEXT NOT NULL, rules TEXT NOT NULL,
  PRIMARY KEY (repo_id, branch));
CREATE TABLE IF NOT EXISTS rulesets (
  id INTEGER PRIMARY KEY AUTOINCREMENT, repo_id INTEGER NOT NULL, body TEXT NOT NULL,
  created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS labels (
  id INTEGER PRIMARY KEY AUTOINCREMENT, repo_id INTEGER NOT NULL, name TEXT NOT NULL,
  name_key TEXT NOT NULL, color TEXT NOT NULL, description TEXT, UNIQUE (repo_id, name_key));
CREATE TABLE IF NOT EXISTS issues (
  id INTEGER PRIMARY KEY AUTOINCREMENT, repo_id INTEGER NOT NULL, number INTEGER NOT NULL,
  title TEXT NOT NULL, body TEXT, state TEXT NOT NULL DEFAULT 'open', state_reason TEXT,
  user_id INTEGER NOT NULL, is_pull INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL, closed_at TEXT, closed_by INTEGER, UNIQUE (repo_id, number));
CREATE INDEX IF NOT EXISTS issues_by_state ON issues (repo_id, is_pull, state, number);
CREATE TABLE IF NOT EXISTS issue_labels (
  issue_id INTEGER NOT NULL, label_id INTEGER NOT NULL, PRIMARY KEY (issue_id, label_id));
CREATE TABLE IF NOT EXISTS pulls (
  id INTEGER PRIMARY KEY AUTOINCREMENT, issue_id INTEGER NOT NULL UNIQUE,
  repo_id INTEGER NOT NULL, number INTEGER NOT NULL, head_repo_id INTEGER,
  head_owner_id INTEGER NOT NULL, head_ref TEXT NOT NULL, head_sha TEXT NOT NULL,
  base_ref TEXT NOT NULL, base_sha TEXT NOT NULL, draft INTEGER NOT NULL DEFAULT 0,
  merged INTEGER NOT NULL DEFAULT 0, merged_at TEXT, merged_by INTEGER, merge_commit_sha TEXT,
  maintainer_can_modify INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS pulls_by_number ON pulls (repo_id, number);
CREATE INDEX IF NOT EXISTS pulls_by_head ON pulls (head_repo_id, head_ref);
CREATE TABLE IF NOT EXISTS comments (
  id INTEGER PRIMARY KEY AUTOINCREMENT, issue_id INTEGER NOT NULL, repo_id INTEGER NOT NULL,
  user_id INTEGER NOT NULL, app_id INTEGER, body TEXT NOT NULL, created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS comments_by_issue ON comments (issue_id);
CREATE TABLE IF NOT EXISTS reactions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL, subject_id INTEGER NOT NULL,
  user_id INTEGER NOT NULL, content TEXT NOT NULL, created_at TEXT NOT NULL,
  UNIQUE (subject, subject_id, user_id, content));
CREATE TABLE IF NOT EXISTS events (
  id INTEGER PRIMARY KEY AUTOINCREMENT, repo_id INTEGER NOT NULL, issue_id INTEGER NOT NULL,
  event TEXT NOT NULL, actor_id INTEGER NOT NULL, commit_id TEXT, detail TEXT NOT NULL,
  created_at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS events_by_issue ON events (issue_id);
CREATE TABLE IF NOT EXISTS reviews (
  id INTEGER PRIMARY KEY AUTOINCREMENT, issue_id INTEGER NOT NULL, user_id INTEGER NOT NULL,
  state TEXT NOT NULL, body TEXT NOT NULL, commit_id TEXT NOT NULL, submitted_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS statuses (
  id INTEGER PRIMARY KEY AUTOINCREMENT, repo_id INTEGER NOT NULL, sha TEXT NOT NULL,
  context TEXT NOT NULL, state TEXT NOT NULL, description TEXT, target_url TEXT,
  creator_id INTEGER NOT NULL, created_at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS statuses_by_sha ON statuses (repo_id, sha, context);
CREATE TABLE IF NOT EXISTS check_suites (
  id INTEGER PRIMARY KEY AUTOINCREMENT, repo_id INTEGER NOT NULL, sha TEXT NOT NULL,
  app_id INTEGER NOT NULL, branch TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
  UNIQUE (repo_id, sha, app_id));
CREATE TABLE IF NOT EXISTS check_runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT, suite_id INTEGER NOT NULL, repo_id INTEGER NOT NULL,
  sha TEXT NOT NULL, app_id INTEGER NOT NULL, name TEXT NOT NULL, status TEXT NOT NULL,
  conclusion TEXT, external_id TEXT, details_url TEXT, output TEXT NOT NULL,
  started_at TEXT, completed_at TEXT);
CREATE INDEX IF NOT EXISTS check_runs_by_sha ON check_runs (repo_id, sha);
CREATE TABLE IF NOT EXISTS hooks (
  id INTEGER PRIMARY KEY AUTOINCREMENT, repo_id INTEGER, app_id INTEGER, url TEXT NOT NULL,
  content_type TEXT NOT NULL, secret TEXT, insecure_ssl TEXT NOT NULL, events TEXT NOT NULL,
  active INTEGER NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS deliveries (
  id INTEGER PRIMARY KEY AUTOINCREMENT, hook_id INTEGER NOT NULL, guid TEXT NOT NULL,
  event TEXT NOT NULL, action TEXT, repo_id INTEGER, installation_id INTEGER,
  redelivery INTEGER NOT NULL, pending INTEGER NOT NULL, payload BLOB NOT NULL,
  delivered_at TEXT NOT NULL, duration REAL NOT NULL DEFAULT 0, status TEXT NOT NULL DEFAULT '',
  status_code INTEGER NOT NULL DEFAULT 0, request_headers TEXT NOT NULL DEFAULT '{}',
  response_headers TEXT NOT NULL DEFAULT '{}', response_body TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS deliveries_by_hook ON deliveries (hook_id, id);
CREATE INDEX IF NOT EXISTS deliveries_pending ON deliveries (pending) WHERE pending = 1;
CREATE TABLE IF NOT EXISTS activities (
  id INTEGER PRIMARY KEY AUTOINCREMENT, repo_id INTEGER NOT NULL, ref TEXT NOT NULL,
  before TEXT NOT NULL, after TEXT NOT NULL, actor_id INTEGER NOT NULL, kind TEXT NOT NULL,
  at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS activities_by_ref ON activities (repo_id, ref, id);
CREATE TABLE IF NOT EXISTS signing_keys (
  id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL, title TEXT NOT NULL,
  key TEXT NOT NULL, fingerprint TEXT NOT NULL UNIQUE, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS switches (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS apps (
  id INTEGER PRIMARY KEY AUTOINCREMENT, slug TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
  owner_id INTEGER NOT NULL, bot_id INTEGER NOT NULL, public_key TEXT NOT NULL,
  permissions TEXT NOT NULL, events TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS oauth_apps (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, client_id TEXT NOT NULL UNIQUE,
  secret TEXT NOT NULL, callback_url TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS installations (
  id INTEGER PRIMARY KEY AUTOINCREMENT, app_id INTEGER NOT NULL, account_id INTEGER NOT NULL,
  repositories TEXT, created_at TEXT NOT NULL, UNIQUE (app_id, account_id));
