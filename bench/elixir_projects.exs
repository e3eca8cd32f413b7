# How many of the function clauses of Elixir projects a machine takes as they stand, by `use Mote.Behaviour, import: [...]`.
#
#     MIX_ENV=test mix run bench/elixir_projects.exs EBIN... [--every=N] [--show=REASON] 2> /dev/null
#
# Each folder has the compiled modules of projects, with debug information. What counts: a clause of a `def` or `defp` that somebody has
# written, is no code about code, and has no effect: neither itself nor in a function of these projects that it calls. Each (or one of
# `every`) is compiled by itself; what it calls in these projects is taken to be there, so one that is refused does not refuse its callers.
alias Mote.Behaviour.Imports.Definitions
alias Mote.Doctests
alias Mote.Doctests.Example

Logger.configure(level: :none)
{options, folders, _} = OptionParser.parse(System.argv(), strict: [show: :string, every: :integer])
for folder <- folders, do: Code.append_path(folder)

modules =
  for folder <- folders,
      file <- folder |> Path.join("*.beam") |> Path.wildcard() |> Enum.sort(),
      module = file |> Path.basename(".beam") |> String.to_atom(),
      Code.ensure_loaded?(module),
      {:ok, read} <- [Definitions.fetch(module)],
      do: {module, read}

read = Map.new(modules)

# Modules whose functions have effects.
effects =
  ~w[Elixir.Agent Elixir.Application Elixir.Code Elixir.DynamicSupervisor Elixir.File]a ++
    ~w[Elixir.GenServer Elixir.IEx Elixir.Logger Elixir.Macro Elixir.Mix Elixir.Module Elixir.Node]a ++
    ~w[Elixir.Port Elixir.Process Elixir.Registry Elixir.StringIO Elixir.Supervisor Elixir.System]a ++
    ~w[Elixir.Task Elixir.Protocol Elixir.EEx Elixir.ExUnit Elixir.Kernel.LexicalTracker]a ++
    ~w[Elixir.Kernel.Utils Elixir.Record Elixir.Macro.Env]a ++
    ~w[application code crypto ets dets file gen_event gen_server gen_tcp global inet init io logger]a ++
    ~w[net_kernel os persistent_term proc_lib pg prim_file rand rpc ssl supervisor sys telemetry timer]a ++
    ~w[atomics counters httpc httpd_util zlib erl_eval erl_scan erl_parse elixir elixir_config]a ++
    ~w[public_key]a

processes_and_clocks =
  ~w[! send self spawn spawn_link spawn_monitor spawn_opt monitor demonitor link unlink exit node]a ++
    ~w[nodes put get erase make_ref unique_integer system_time monotonic_time now time_offset]a ++
    ~w[process_info process_flag register whereis send_after start_timer cancel_timer group_leader]a ++
    ~w[is_process_alive halt system_info localtime universaltime timestamp get_module_info apply_after]a ++
    ~w[alias unalias statistics memory convert_time_unit]a

# Of the modules with clauses of their own most functions have none.
effect? = fn
  IO, name, _ ->
    name not in [:iodata_to_binary, :iodata_length, :chardata_to_string]

  IO.ANSI, _, _ ->
    true

  Path, name, _ ->
    name in [:wildcard, :expand, :absname, :relative_to_cwd, :safe_relative_to]

  Kernel.Utils, name, _ ->
    name not in [:raise, :destructure]

  Enum, name, _ ->
    name in [:random, :shuffle, :take_random]

  module, name, _ when module in [Date, DateTime, NaiveDateTime, Time] ->
    name in [:utc_today, :utc_now, :now, :now!, :local_now]

  :calendar, name, _ ->
    name in [:local_time, :universal_time]

  :erlang, name, _ ->
    name in processes_and_clocks

  module, _, _ ->
    module in effects
end

# What a clause calls: {module, name, arity}. A `quote` is gone, so code about code shows by what it makes.
calls = fn module, code ->
  {_, found} =
    Macro.prewalk(code, [], fn
      {:&, _, [{:/, _, [{{:., _, [m, f]}, _, []}, a]}]}, found when is_atom(m) ->
        {nil, [{m, f, a} | found]}

      {:&, _, [{:/, _, [{f, _, c}, a]}]}, found when is_atom(f) and is_atom(c) ->
        {nil, [{module, f, a} | found]}

      {{:., _, [m, f]}, _, args} = node, found when is_atom(m) and is_list(args) ->
        {node, [{m, f, length(args)} | found]}

      {:receive, _, _} = node, found ->
        {node, [{:erlang, :send, 2} | found]}

      {f, _, args} = node, found when is_atom(f) and is_list(args) ->
        {node, [{module, f, length(args)} | found]}

      node, found ->
        {node, found}
    end)

  found
end

code? = fn code ->
  {_, found?} =
    Macro.prewalk(code, false, fn
      {:{}, _, [name, meta, context]} = node, _
      when is_atom(name) and is_list(meta) and (is_atom(context) or is_list(context)) ->
        {node, true}

      node, found? ->
        {node, found?}
    end)

  found?
end

functions =
  for {module, %{functions: functions}} <- modules,
      {{name, arity}, {kind, meta, clauses}} <- Enum.sort_by(functions, &elem(&1, 0)),
      kind in [:def, :defp],
      do: {{module, name, arity}, meta, clauses}

called = for {mfa, _, clauses} <- functions, into: %{}, do: {mfa, calls.(elem(mfa, 0), clauses)}

# What is neither here nor in Elixir and Erlang is not known.
known? = fn module -> is_map_key(read, module) or Code.ensure_loaded?(module) end

spread = fn spread, bad ->
  more = for {mfa, calls} <- called, mfa not in bad, Enum.any?(calls, &(&1 in bad)), do: mfa
  if more == [], do: bad, else: spread.(spread, Enum.into(more, bad))
end

direct? = fn {m, f, a} -> not is_map_key(called, {m, f, a}) and (effect?.(m, f, a) or not known?.(m)) end

effectful =
  spread.(spread, for({mfa, calls} <- called, Enum.any?(calls, direct?), into: MapSet.new(), do: mfa))

pure? = fn calls -> not Enum.any?(calls, &(direct?.(&1) or &1 in effectful)) end

all =
  for {{module, name, arity}, meta, clauses} <- functions,
      meta[:context] == nil and meta[:generated] != true,
      name not in [:impl_for, :impl_for!, :behaviour_info, :struct_to_code],
      not String.starts_with?(Atom.to_string(name), "__"),
      clause <- clauses,
      do: {module, name, arity, meta, clause, calls.(module, Tuple.to_list(clause))}

counted =
  Enum.filter(all, fn {_, _, _, _, clause, calls} -> pure?.(calls) and not code?.(elem(clause, 3)) end)

IO.puts("#{length(modules)} modules, #{length(all)} clauses, #{length(counted)} without effects")
counted = Enum.take_every(counted, options[:every] || 1)

# Functions of which nothing is asked but that they are there.
stubs = fn functions ->
  for {{name, arity}, {kind, meta, _}} <- functions, kind in [:def, :defp], into: %{} do
    {{name, arity}, {kind, meta, [{meta, List.duplicate({:_, [], nil}, arity), [], nil}]}}
  end
end

own = Enum.group_by(counted, &elem(&1, 0))

heads =
  for {module, clauses} <- own, into: %{} do
    others =
      for {_, _, _, _, _, calls} <- clauses,
          {m, _, _} <- calls,
          is_map_key(read, m),
          m != module,
          uniq: true,
          do: m

    alone =
      for {{_, name, arity, meta, clause, _}, i} <- Enum.with_index(clauses),
          into: %{},
          do: {{:"#{name} #{i}", arity}, {:def, meta, [clause]}}

    reads = [
      {module, {:ok, %{read[module] | functions: Map.merge(stubs.(read[module].functions), alone)}}}
      | for(other <- others, do: {other, {:ok, %{read[other] | functions: stubs.(read[other].functions)}}})
    ]

    :persistent_term.put({:reads, module}, reads)

    head =
      quote do
        use Mote.Behaviour, import: unquote([module | others])

        for read <- :persistent_term.get({:reads, unquote(module)}),
            do: Module.put_attribute(__MODULE__, :mote_read, read)
      end

    {module, head}
  end

examples =
  for {module, clauses} <- own, {{_, name, arity, meta, _, _}, i} <- Enum.with_index(clauses) do
    variables = for n <- 1..arity//1, do: {:"a#{n}", [], nil}
    quoted = {{:., [], [module, :"#{name} #{i}"]}, [], variables}
    {%Example{quoted: quoted, variables: variables, values: [meta[:line]]}, module}
  end

by_example = Map.new(examples)
{_, refused} = examples |> Enum.map(&elem(&1, 0)) |> Doctests.judged(&heads[by_example[&1]])

# A project by the first part of its modules' names.
project = fn module -> module |> inspect() |> String.split(".") |> hd() end
lost = Enum.frequencies_by(refused, fn {example, _} -> project.(by_example[example]) end)

for {name, n} <- counted |> Enum.frequencies_by(&project.(elem(&1, 0))) |> Enum.sort_by(&(-elem(&1, 1))),
    n > 0 do
  taken = n - Map.get(lost, name, 0)

  IO.puts(
    "#{String.pad_trailing(name, 24)}#{String.pad_leading("#{n}", 6)}#{String.pad_leading("#{taken}", 6)} #{Float.round(100 * taken / n, 1)} %"
  )
end

taken = length(counted) - length(refused)
IO.puts("all: #{taken} of #{length(counted)}, #{Float.round(100 * taken / max(length(counted), 1), 1)} %\n")

reason = fn {kind, why} ->
  why =
    why
    |> String.split("\n")
    |> hd()
    |> String.replace(~r/^.*cannot be compiled for a machine: /U, "")
    |> String.replace(~r/^\S+:\d+: /, "")

  "#{inspect(kind)} #{why}" |> String.replace(~r/, got: .*$/, ", got: …") |> String.slice(0, 160)
end

for {why, rows} <- refused |> Enum.group_by(&reason.(elem(&1, 1))) |> Enum.sort_by(&(-length(elem(&1, 1)))) do
  {%{quoted: {{_, _, [module, name]}, _, _}, values: [line]}, _} = hd(rows)
  IO.puts("#{String.pad_leading("#{length(rows)}", 5)} #{why}\n        #{inspect(module)}.#{name} (#{line})")

  if options[:show] && why =~ options[:show],
    do:
      for(
        {%{quoted: {{_, _, [m, f]}, _, _}, values: [l]}, _} <- rows,
        do: IO.puts("          #{inspect(m)}.#{f} (#{l})")
      )
end
