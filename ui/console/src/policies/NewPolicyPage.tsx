import { Button, Group, Paper, Select, Skeleton, Stack, Text, TextInput, Title } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useMemo, useState, type ReactElement } from 'react';
import { useClient, useQuery, type CombinedError } from 'urql';

import { useT } from '../app/i18n.ts';
import { Empty } from '../shared/Empty.tsx';
import { Problem } from '../shared/Problem.tsx';
import { YamlEditor } from '../shared/YamlEditor.tsx';
import { create, preview, read, write, type Outcome } from './change.ts';
import { isComplete, isKind, isNamespaced, kinds, noNamespace, propagates, type Key, type PolicyKind } from './kinds.ts';
import { OutcomeView } from './Outcome.tsx';
import { NamespaceNamesQuery } from './queries.ts';
import { SpecForm } from './SpecForm.tsx';

/** beginnings are the specs that a new policy begins with: they select nothing that there is. */
const propagationBeginning = write({
  resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'example' }],
  placement: { clusterAffinity: { clusterNames: [] } },
});
const overrideBeginning = write({
  resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'example' }],
  overrideRules: [{ targetCluster: { clusterNames: ['example'] }, overriders: { imageOverrider: [{ component: 'Tag', operator: 'replace', value: 'latest' }] } }],
});

/** NewPolicyPage creates a policy, after it has shown what that would do. */
export function NewPolicyPage(): ReactElement {
  const t = useT();
  const client = useClient();
  const { instance } = useParams({ from: '/instances/$instance/new-policy' });
  const navigate = useNavigate();
  const [{ data, fetching, error: unread }] = useQuery({ query: NamespaceNamesQuery, variables: { instance } });
  const namespaces = useMemo(() => data?.instance?.namespaces.nodes.map((n) => n.name) ?? [], [data]);
  const [kind, setKind] = useState<PolicyKind>('PROPAGATION_POLICY');
  const [namespace, setNamespace] = useState<string | null>(null);
  const [name, setName] = useState('');
  const [text, setText] = useState(propagationBeginning);
  const [opened, setOpened] = useState(0);
  const [shown, setShown] = useState<{ of: string; outcome: Outcome }>();
  const [again, setAgain] = useState(0);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<CombinedError>();
  const key = useMemo<Key>(() => ({ instance, kind, namespace: isNamespaced(kind) ? namespace : null, name: name.trim() }), [instance, kind, namespace, name]);
  const named = isComplete(key);
  const [settled] = useDebouncedValue(JSON.stringify([key, text]), 500);
  useEffect(() => {
    document.title = `${t('policies.new')} · Kairship`;
  }, [t]);
  useEffect(() => {
    const [of, yaml] = JSON.parse(settled) as [Key, string];
    const draft = read(yaml);
    if (!isComplete(of) || 'error' in draft) return undefined;
    let latest = true;
    void preview(client, of, { change: 'CREATE', spec: draft.spec }).then((outcome) => latest && setShown({ of: settled, outcome }));
    return () => {
      latest = false;
    };
  }, [client, settled, again]);

  const draft = useMemo(() => read(text), [text]);
  const current = named && shown?.of === JSON.stringify([key, text]) ? shown.outcome : undefined;
  const begin = (next: PolicyKind): void => {
    if (propagates(next) !== propagates(kind)) {
      setText(propagates(next) ? propagationBeginning : overrideBeginning);
      setOpened(opened + 1);
    }
    setKind(next);
  };
  const confirm = async (): Promise<void> => {
    if ('error' in draft || current === undefined || current.is === 'refused') return;
    setBusy(true);
    const refused = await create(client, key, draft.spec, current.of.fingerprint);
    setBusy(false);
    setError(refused);
    if (refused) setAgain((n) => n + 1);
    else void navigate({ to: '/instances/$instance/policies/$kind/$namespace/$name', params: { instance, kind, namespace: key.namespace ?? noNamespace, name: key.name } });
  };
  if (data === undefined && fetching) return <Skeleton h={300} />;
  if (!data?.instance?.viewerCan.create) {
    if (unread) return <Problem error={unread} />;
    return <Empty title={t(data?.instance ? 'action.notAllowed' : 'instance.notFound')} hint={t(data?.instance ? 'policies.mayNotCreate' : 'instance.notFoundHint')} />;
  }
  return (
    <Stack gap="md" maw={1500}>
      <Title order={1}>{t('policies.newOn', { instance })}</Title>
      <Group gap="sm" align="flex-end">
        <Select label={t('policies.kindOf')} data={kinds.map((value) => ({ value, label: t(`policies.kind.${value}`) }))} value={kind} onChange={(value) => value !== null && isKind(value) && begin(value)} allowDeselect={false} w={240} />
        {isNamespaced(kind) && <Select label={t('workloads.namespace')} data={namespaces} value={namespace} onChange={setNamespace} searchable w={200} required />}
        <TextInput label={t('workloads.name')} value={name} onChange={(event) => setName(event.currentTarget.value)} w={240} required />
      </Group>
      <div className="kairship-split">
        <Stack gap="xs" component="section" aria-labelledby="spec">
          <Title order={2} id="spec">
            {t('policies.spec')}
          </Title>
          <SpecForm instance={instance} kind={kind} text={text} change={setText} />
          <Paper withBorder className="kairship-editor-frame">
            <YamlEditor key={opened} original={propagates(kind) ? propagationBeginning : overrideBeginning} text={text} label={t('policies.spec')} readOnly={false} onChange={setText} />
          </Paper>
        </Stack>
        <Stack gap="xs" component="section" aria-labelledby="preview" aria-live="polite">
          <Title order={2} id="preview">
            {t('preview.title')}
          </Title>
          {!named && <Text size="sm" className="kairship-dimmed">{t('policies.nameFirst')}</Text>}
          {'error' in draft && <Text size="sm" className="kairship-danger">{draft.error}</Text>}
          {named && !('error' in draft) && (current ? <OutcomeView of={current} /> : <Text size="sm" className="kairship-dimmed">{t('preview.asking')}</Text>)}
          <Problem error={error} />
          <Group justify="flex-end">
            <Button disabled={current === undefined || current.is === 'refused'} loading={busy} onClick={() => void confirm()}>
              {t('policies.create')}
            </Button>
          </Group>
        </Stack>
      </div>
    </Stack>
  );
}
