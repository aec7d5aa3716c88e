// GitHub's own client and webhook receiver, against the forge: node octokit.mjs < what.json
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const given = JSON.parse(readFileSync(0, "utf8"));
const require = createRequire(given.modules + "/");

async function client() {
  const { Octokit } = await import(require.resolve("@octokit/rest"));
  const octokit = new Octokit({ auth: given.token, baseUrl: given.api });
  const { owner, repo, pull_number } = given;
  const pull = (await octokit.pulls.get({ owner, repo, pull_number })).data;
  const all = await octokit.paginate(octokit.issues.listLabelsForRepo, { owner, repo, per_page: 2 });
  await octokit.issues.addLabels({ owner, repo, issue_number: pull_number, labels: ["merge-queue"] });
  const refused = await octokit.pulls
    .merge({ owner, repo, pull_number, sha: "0".repeat(40) })
    .catch((error) => [error.status, error.response.data.message]);
  return { head: pull.head.sha, labels: all.map((label) => label.name), refused };
}

async function receiver() {
  const { Webhooks } = await import(require.resolve("@octokit/webhooks"));
  const webhooks = new Webhooks({ secret: given.secret });
  const heard = [];
  webhooks.onAny(({ id, name, payload }) => heard.push([id, name, payload.action ?? ""]));
  for (const { id, name, body, signature } of given.deliveries) {
    await webhooks.verifyAndReceive({ id, name, payload: body, signature });
  }
  return { heard };
}

console.log(JSON.stringify(await (given.deliveries ? receiver() : client())));
