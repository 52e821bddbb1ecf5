import type { Texts } from './en';

// 控制台的简体中文文本。
export const zh: Texts = {
  app: {
    name: 'Kairship', navigation: '主导航', menu: '菜单', skip: '跳到正文', fleet: '总览', workloads: '工作负载', clusters: '集群', policies: '策略', activity: '活动',
    graphiql: 'GraphiQL', theme: '主题', light: '浅色', dark: '深色', system: '跟随系统', language: '语言', account: '账户', signOut: '退出登录',
    signOutEverywhere: '在所有设备上退出', live: '实时', reconnecting: '正在重新连接…', notFound: '没有这个页面', notFoundHint: '地址可能有误，或者对象已被删除。',
    toFleet: '返回总览', openInGraphiQL: '在 GraphiQL 中打开', copyCommand: '复制为 kubectl 命令', copied: '已复制',
  },
  signIn: {
    title: '登录', provider: '登录', or: '或使用令牌', token: '全局集群的 Bearer 令牌', tokenHint: '令牌只保存在当前标签页，关闭后即被清除。', withToken: '使用此令牌',
    wrong: '令牌无效：可能有误、已过期或已被吊销。', unreachable: 'Kairship 没有响应，请稍后再试。', ended: '会话已结束，请重新登录。', denied: '登录被拒绝。',
    expired: '登录超时，或是在另一个浏览器中开始的。请重试。', refused: '身份提供方认识您，但全局集群不认识。请联系 Kairship 的管理员。', unavailable: '现在无法登录，请稍后再试。',
  },
  freshness: { asOf: '截至 {{time}}', stale: '可能已过时', unknown: '尚未观测', live: '实时读取' },
  problem: { title: '出现问题', part: '部分内容无法读取', retry: '重试', trace: '跟踪号', offline: 'Kairship 没有响应，所见内容可能已过时。' },
  health: { HEALTHY: '健康', PROGRESSING: '进行中', DEGRADED: '降级', UNSCHEDULED: '未调度', UNPROPAGATED: '未分发', UNMANAGED: '未纳管', UNKNOWN: '未知' },
  kind: { DEPLOYMENT: 'Deployment', STATEFUL_SET: 'StatefulSet', DAEMON_SET: 'DaemonSet', JOB: 'Job', CRON_JOB: 'CronJob', CUSTOM: '自定义' },
  state: { IN_PROCESS: '处理中', RUNNING: '运行中', TERMINATING: '终止中', UNAVAILABLE: '不可用', UNKNOWN: '未知' },
  fleet: {
    title: '总览', problems: '需要关注', noProblems: '一切正常', noProblemsHint: '目前没有需要处理的工作负载、集群或实例。', more_one: '还有 {{count}} 个工作负载',
    more_other: '还有 {{count}} 个工作负载', instances: '实例', noInstances: '您看不到任何实例', noInstancesHint: '请向管理员申请实例上的角色，或注册第一个实例。',
    clustersReady: '就绪集群', nodesReady: '就绪节点', allocated: '已分配', cpu: 'CPU', memory: '内存', pods: 'Pod', workloads_one: '{{count}} 个工作负载',
    workloads_other: '{{count}} 个工作负载', karmada: 'Karmada {{version}}', instance: '实例', cluster: '集群', credentialsExpire: '凭证将于 {{time}} 过期',
    notReady: '未就绪', noSummary: '暂无数据',
  },
  workloads: {
    title: '工作负载', search: '名称、命名空间、标签或镜像', labels: '标签选择器', labelsHint: '例如 app=web,tier!=cache', filters: '筛选', clear: '清除筛选', columns: '列',
    total_one: '{{count}} 个工作负载', total_other: '{{count}} 个工作负载', none: '没有匹配的工作负载', noneHint: '请修改或清除筛选条件。', loadingMore: '正在读取…',
    changed_one: '{{count}} 项变化', changed_other: '{{count}} 项变化', show: '显示', name: '名称', kind: '类型', namespace: '命名空间', instance: '实例', health: '健康状况',
    ready: '就绪', clusters: '集群', images: '镜像', age: '存在时间', moreValues_one: '还有 {{count}} 个值', moreValues_other: '还有 {{count}} 个值',
    facet: { HEALTH: '健康状况', INSTANCE: '实例', KIND: '类型', NAMESPACE: '命名空间', CLUSTER: '集群', IMAGE: '镜像', LABEL: '标签' },
  },
  workload: {
    why: '原因', graph: '分发', pods: 'Pod', manifest: '清单', events: '事件', timeline: '时间线', drift: '偏移', notFound: '没有这个工作负载',
    notFoundHint: '它可能已被删除，或者您的角色无权查看。', replicas: '{{desired}} 个中 {{ready}} 个就绪', policy: '策略', binding: '绑定', template: '模板', overrides: '覆盖',
    object: '对象', noPolicy: '没有策略', foldedHealthy_one: '{{count}} 个健康集群', foldedHealthy_other: '{{count}} 个健康集群', unfold: '展开', fold: '折叠健康集群',
    noPods: '没有 Pod', restarts: '重启次数', node: '节点', phase: '阶段', logs: '日志', follow: '跟随中', noLogs: '暂无日志', logFilter: '筛选日志行', download: '下载',
    noEvents: '没有事件', noTimeline: '尚无记录', noDrift: '各集群与 Karmada 下发的内容一致', field: '字段', sent: '已下发', found: '实际', manager: '管理者',
    stage: { POLICY: '策略', SCHEDULING: '调度', OVERRIDE: '覆盖', DISPATCH: '下发', APPLY: '应用', RUN: '运行' },
    explained: { PASSED: '已通过', WAITING: '等待中', FAILED: '失败', NOT_REACHED: '未到达' }, remedy: '处理建议', by: '由 {{user}}',
  },
  action: {
    scale: '扩缩容', restart: '重启', pause: '暂停', resume: '恢复', image: '更换镜像', delete: '删除', more: '操作', replicas: '副本数', container: '容器', newImage: '镜像',
    tried: '实例接受此变更。', trying: '正在询问实例…', confirm: '执行', cancel: '取消', done: '完成', failed: '实例拒绝了', notAllowed: '您的角色不允许此操作', before: '当前',
    after: '之后', deleteWarning: '它将从实例及其所有集群中删除。', typeName: '输入 {{name}} 以确认',
  },
  clusters: {
    title: '集群', none: '您看不到任何集群', noneHint: '加入您实例的集群会列在这里。', ready: '就绪', notReady: '未就绪', nodes: '节点', version: '版本', region: '地域',
    instance: '实例', taints: '污点', capacity: '已分配', free: '空闲',
  },
  search: {
    open: '搜索', placeholder: '搜索全部内容', results: '结果', none: '没有匹配项。可搜索名称的一部分、标签、镜像和 UID。', searching: '正在搜索…', more: '还有更多结果：请输入更多内容以缩小范围。',
    keys: '↑ ↓ 选择 · Enter 打开 · Esc 关闭', command: '命令', goTo: '前往{{page}}', unwell: '显示不健康的工作负载',
    type: {
      INSTANCE: '实例', CLUSTER: '集群', MEMBER_CLUSTER: '成员集群', WORKLOAD: '工作负载', POLICY: '策略', POD: 'Pod', NODE: '节点', NAMESPACE: '命名空间', RESOURCE: '对象',
    },
  },
  preview: {
    title: '变更的效果', asking: '正在询问实例…', nothing: '对于您可以查看的对象，没有任何变化。', nowhere: '不在任何集群', underPolicy: '转由策略 {{name}} 管理', unplacedOne: '无处放置',
    rest_one: '还有 {{count}} 个', rest_other: '还有 {{count}} 个', moved: '迁移', claimed: '新接管', removed: '从集群移除', lost: '失去策略', unplaced: '无处放置', evicted: '被驱逐',
    unchangedCount: '保持不变', changed: '清单有变化', created: '新建', unchanged: '不变', failed: '失败', assumptions: '预览的前提',
    effect: {
      LOST: '失去策略', HANDED_OVER: '移交', TAKEN_OVER: '被接管', CLAIMED: '新接管', EVICTED: '驱逐', RESCHEDULED: '迁移', UNCHANGED: '不变',
    },
    manifest: { FAILED: '失败', CHANGED: '有变化', CREATED: '新建', UNCHANGED: '不变' },
  },
  policies: {
    title: '策略', instance: '实例', search: '名称的一部分', show: '策略种类', all: '全部', propagation: '分发', override: '覆盖', total_one: '{{count}} 个策略', total_other: '{{count}} 个策略',
    none: '没有策略', noneMatch: '没有名称包含此文本的策略。清除文本即可查看全部。', noneHint: '策略决定哪些对象分发到哪些集群。请用 kubectl 或 API 创建。', policy: '策略', selects: '选择',
    clusters: '集群', governs: '管理的工作负载', replicas: '副本', rules: '规则', every: '全部', everything: '所有对象', allClusters: '所有集群', except: '除 {{clusters}} 外', divided: '副本拆分',
    weighted: '按权重拆分到各集群', aggregated: '拆分到尽可能少的集群', duplicated: '每个集群都有全部副本', unwell: '{{count}} 个异常', deleting: '正在删除',
    kind: {
      PROPAGATION_POLICY: 'PropagationPolicy', CLUSTER_PROPAGATION_POLICY: 'ClusterPropagationPolicy', OVERRIDE_POLICY: 'OverridePolicy', CLUSTER_OVERRIDE_POLICY: 'ClusterOverridePolicy',
    },
    notFound: '没有这个策略', notFoundHint: '它可能已被删除，或者您的角色无权查看。', toList: '返回策略列表', governsNone: '没有管理任何工作负载', governsNoneHint: '它选择的对象不存在，或已被其他策略接管。',
    edit: '编辑', spec: '规约', discard: '放弃修改', mayNot: '您的角色可以查看此策略，但不能修改。', moved: '在您编辑期间，策略已被他人修改。您的草稿基于旧版本。', startAgain: '基于新版本重新开始',
    previewHint: '修改规约：在真正变更之前，这里会按集群显示哪些对象将迁移。', readOnlyHint: '可以修改此策略的用户会在这里看到变更的效果。', applied: '策略已应用。', apply: '应用',
  },
  cluster: {
    tab: { overview: '概览', workloads: '工作负载', nodes: '节点', loss: '若失去此集群' },
    notFound: '没有这个成员集群', notFoundHint: '它可能已离开实例，或者您的角色无权查看。', toList: '返回集群列表', memberOf: '所属实例', cordoned: '已封锁', cordon: '封锁', uncordon: '解除封锁',
    uncordonHint: '新对象可以再次调度到此集群。已有对象不会迁回。', about: '基本信息', endpoint: '端点', syncMode: '同步模式', joined: '加入时间', managed: '由 Kairship 管理', credentials: '凭证到期',
    noExpiry: '未知到期时间', noTaints: '没有污点：任何对象都可以调度到此集群。', labels: '标签', noLabels: '没有标签', policies: '分发到此集群的策略', noPolicies: '您可以查看的策略都不会分发到此集群。',
    conditions: '状况', since: '自 {{time}}', nodesReady: '{{total}} 个节点中 {{ready}} 个就绪', noWorkloads: '这里没有工作负载', noWorkloadsHint: '没有策略把您可以查看的工作负载分发到此集群。',
    allWorkloads_one: '显示 {{count}} 个工作负载', allWorkloads_other: '显示全部 {{count}} 个工作负载', nodeCount_one: '{{count}} 个节点', nodeCount_other: '{{count}} 个节点', noNodes: '没有节点',
    noNodesHint: '在采集到集群之后，拥有整个实例角色的用户可以看到节点。', lossNotAllowed: '可以修改此集群的用户会在这里看到失去它的后果。', lossMode: '失去的方式',
    loss: { NO_EXECUTE_TAINT: '集群宕机', REMOVAL: '集群离开', CORDON: '集群被封锁' },
    lossHint: {
      NO_EXECUTE_TAINT: '没有策略容忍的污点会驱逐其中的对象，如同开启故障转移时集群宕机。',
      REMOVAL: '集群离开实例，其中的对象会重新调度。',
      CORDON: '新对象不会再调度到此集群，已有对象保持不变。',
    },
    lossNothing_one: '没有迁移：{{count}} 个对象保持不变。', lossNothing_other: '没有迁移：{{count}} 个对象保持不变。',
  },
  access: {
    title: '访问权限', of: '{{instance}} 的访问权限', grant: '授予角色', grantOn: '授予 {{instance}} 上的角色', revoke: '收回', revokeOf: '收回 {{subject}} 的{{role}}角色',
    revokeHint: '{{subject}} 将失去 {{instance}} 上的{{role}}角色，几秒后生效。', ownOnly: '您的角色不能管理访问权限：这里只列出您自己的角色。', none: '没有角色', noneHint: '请授予第一个角色。',
    subject: '用户或组', subjectKind: '授予对象', role: '角色', namespaces: '命名空间', namespacesHint: '留空表示整个实例。', source: '来源', state: '状态', whole: '整个实例', by: '由 {{user}} 授予',
    holds: '已生效', waits: '等待生效', revoked: '已收回', try: '检查', accepted: '可以授予：{{subject}} 将成为 {{instance}} 的{{role}}。',
    kind: { USER: '用户', GROUP: '组' }, roles: { VIEWER: '查看者', EDITOR: '编辑者', ADMIN: '管理员' }, sources: { DIRECT: '直接授予', PLATFORM: '平台' },
    whoMay: '谁可以做什么', verb: '操作', resource: '资源', inNamespace: '命名空间（可选）', ask: '查询', whoMayNone: '没有角色允许此操作。',
  },
  activity: {
    title: '活动', none: '没有活动', noneHint: '通过 Kairship 做出的变更会列在这里。', all: '全部', clear: '清除', at: '时间', user: '用户', change: '变更', object: '对象', outcomeTitle: '结果',
    native: '原生 API {{verb}}', as: '{{user}}（以 {{impersonated}} 身份）', more: '更早的活动', filter: { instance: '实例', user: '用户', name: '对象名称', outcome: '结果' },
    outcome: { SUCCEEDED: '成功', REFUSED: '被拒绝', FAILED: '失败' },
  },
  instance: {
    notFound: '没有这个实例', notFoundHint: '它可能已被删除，或者您的角色无权查看。', mode: { EXTERNAL: '外部', MANAGED: '托管' }, members_one: '{{count}} 个成员集群',
    members_other: '{{count}} 个成员集群', noMembers: '没有成员集群', noMembersHint: '加入集群后会列在这里。', host: '宿主集群', created: '创建时间', warnings: '最近的警告', noWarnings: '没有警告',
  },
};
