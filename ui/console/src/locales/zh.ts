import type { Texts } from './en';

// 控制台的简体中文文本。
export const zh: Texts = {
  app: {
    name: 'Kairship', navigation: '主导航', menu: '菜单', skip: '跳到正文', fleet: '总览', workloads: '工作负载', clusters: '集群', policies: '策略',
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
};
