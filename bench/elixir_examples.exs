# How much of Elixir works as a behaviour, by examples that nobody here has chosen: those in the documentation of the Elixir that
# runs, and the assertions of its own tests, of which the folder is given. Each is compiled as a function of a behaviour, and run
# by machines of both tiers; what they answer is compared, exactly, with what Elixir does.
#
#     MIX_ENV=test mix run bench/elixir_examples.exs [ELIXIR/lib/elixir/test/elixir] [--only=Enum,Map] [--lifted] 2> /dev/null
#
# `same` counts examples that raise in Elixir and abort the turn; `aborted` those that have a value in Elixir; `told` those of which
# guides/language.md says that their value is another one. What has no value of
# its own, such as an assertion that needs a helper of its test, or a random one, is no example. `--lifted` has the literals of each as
# variables, so that nothing is calculated by the compiler.
alias Mote.Doctests
alias Mote.Doctests.{Assertions, Outcome}

# What these are about a turn cannot do, by its meaning: processes, files, what a node or a compiler is asked, code as a value, tables
# of modules, and atoms that a text names. An example that calls one of them is counted with them.
apart =
  ~w[Agent Application Code CodeFormatter CodeFragment CodeIdentifier CodeNormalizer Config DynamicSupervisor Exception File GenServer] ++
    ~w[IO Io IO.ANSI Macro Module Node OptionParser PartitionSupervisor Port Process Protocol Record Registry StringIO StringIo] ++
    ~w[Supervisor System Task Typespec] ++
    Enum.map(
      ~w[Alias Cli Defaults Deprecated Dialyzer Docs Errors Expansion Impl Import LexicalTracker Macros Overridable] ++
        ~w[ParallelCompiler Parser Quote StringTokenizer Tracers Typespec Warning],
      &"Kernel.#{&1}"
    )

Logger.configure(level: :none)

{options, folders, _} = OptionParser.parse(System.argv(), strict: [only: :string, lifted: :boolean])
only = options[:only] && String.split(options[:only], ",")
apart? = fn name -> Enum.any?(apart, &(name == &1 or String.starts_with?(name, &1 <> "."))) end
pure = [:chardata_to_string, :iodata_to_binary, :iodata_length]

acts? = fn example ->
  {_, acts?} =
    Macro.prewalk(example.quoted, false, fn
      {{:., _, [{:__aliases__, _, [:IO]}, name]}, _, _} = node, acts? ->
        {node, acts? or name not in pure}

      {{:., _, [{:__aliases__, _, parts}, _]}, _, _} = node, acts? ->
        {node, acts? or apart?.(Enum.join(parts, "."))}

      {:quote, _, [_ | _]} = node, _ ->
        {node, true}

      node, acts? ->
        {node, acts?}
    end)

  acts?
end

documented =
  for module <- elem(:application.get_key(:elixir, :modules), 1),
      name = inspect(module),
      example <- Doctests.examples(module),
      do: {name, example}

asserted =
  for folder <- folders,
      path <- folder |> Path.join("**/*_test.exs") |> Path.wildcard() |> Enum.sort(),
      name = path |> Path.relative_to(folder) |> String.trim_trailing("_test.exs") |> Macro.camelize(),
      example <- Assertions.examples(path),
      do: {name, example}

# One that names a module of its own test is none.
known? = fn example ->
  {_, named} =
    Macro.prewalk(example.quoted, [], fn
      {:__aliases__, _, parts} = alias, named -> {alias, [parts | named]}
      other, named -> {other, named}
    end)

  not Outcome.chance?(Macro.to_string(example.quoted)) and
    Enum.all?(
      named,
      &(Enum.all?(&1, fn part -> is_atom(part) end) and Code.ensure_loaded?(Module.concat(&1)))
    )
end

examples =
  for {name, example} <- documented ++ asserted, only == nil or name in only, known?.(example) do
    name = if acts?.(example), do: "Code", else: name
    {name, if(options[:lifted], do: Doctests.lifted(example, :all), else: example)}
  end

# What Elixir answers, twice the same, in a process of its own; nil where it has no value by itself. It is not asked about what acts on
# the node.
evaluate = fn example ->
  caller = self()

  {pid, monitor} =
    spawn_monitor(fn ->
      Process.flag(:max_heap_size, 50_000_000)
      Process.group_leader(self(), elem(StringIO.open(""), 1))
      function = Doctests.elixir(example)
      [one, other] = for _ <- 1..2, do: Outcome.attempt(fn -> apply(function, example.values) end)
      send(caller, {self(), if(Outcome.same?(one, other), do: one)})
    end)

  receive do
    {^pid, answer} ->
      Process.demonitor(monitor, [:flush])
      answer

    {:DOWN, ^monitor, _, _, _} ->
      nil
  after
    5_000 ->
      Process.exit(pid, :kill)
      nil
  end
end

# An error of Elixir's compiler is no value.
numbered = Enum.with_index(examples, fn {name, example}, i -> {i, name, example} end)

expected =
  numbered
  |> Task.async_stream(
    fn {i, name, example} -> {i, if(apart?.(name), do: :unknown, else: evaluate.(example))} end,
    timeout: :infinity
  )
  |> Enum.flat_map(fn {:ok, {i, answer}} -> if answer, do: [{i, answer}], else: [] end)
  |> Map.new()

kept = for {i, name, example} <- numbered, is_map_key(expected, i), do: {name, example, expected[i]}

by_example =
  Map.new(kept, fn {name, example, expected} -> {{name, example.quoted, example.values}, expected} end)

named = Enum.group_by(kept, fn {_, example, _} -> example end, &elem(&1, 0))
IO.puts("#{length(examples)} examples, #{length(kept)} with a value")

{units, refused} = kept |> Enum.map(&elem(&1, 1)) |> Enum.uniq() |> Doctests.judged()
machines = for tier <- [:interp, :native], do: elem(Mote.start_link(tier: tier), 1)

answered =
  for {module, accepted} <- units,
      actors = Enum.map(machines, &Mote.create(&1, module.server())),
      {i, example} <- accepted,
      name <- named[example] do
    values = List.to_tuple(example.values)
    plain = Outcome.attempt(fn -> apply(module, :"e#{i}", example.values) end)
    raw = for actor <- actors, do: Mote.ask(actor, {i, values}, 2_000)
    answers = [plain | Enum.map(raw, &Outcome.answer/1)]
    expected = by_example[{name, example.quoted, example.values}]
    # What the language takes has no effect.
    expected = if expected == :unknown, do: evaluate.(example), else: expected
    outcome = expected && Outcome.outcome(expected, answers)
    told? = outcome == :wrong and Outcome.told?(Macro.to_string(example.quoted), expected, tl(answers))
    {name, if(told?, do: :told, else: outcome), example, {expected, plain, raw}}
  end

refused =
  for {example, {kind, why}} <- refused, name <- named[example], do: {name, :refused, example, {kind, why}}

all = Enum.filter(answered ++ refused, &elem(&1, 1))

line = fn title, rows ->
  counts = Enum.frequencies_by(rows, &elem(&1, 1))
  sum = length(rows)

  numbers =
    for kind <- [:same, :refused, :aborted, :told, :wrong],
        do: String.pad_leading("#{Map.get(counts, kind, 0)}", 8)

  share = Float.round(100 * Map.get(counts, :same, 0) / max(sum, 1), 1)

  IO.puts(
    "#{String.pad_trailing(title, 34)}#{String.pad_leading("#{sum}", 7)}#{numbers}#{String.pad_leading("#{share} %", 9)}"
  )
end

IO.puts("\n#{String.pad_trailing("", 34)}    all    same refused aborted    told   wrong")
{left, meant} = Enum.split_with(all, fn {name, _, _, _} -> apart?.(name) end)
for {name, rows} <- meant |> Enum.group_by(&elem(&1, 0)) |> Enum.sort(), do: line.(name, rows)
line.("these together", meant)
line.("what is about the node or compiler", left)
line.("all", all)

reason = fn why ->
  why |> String.split("\n") |> hd() |> String.replace(~r/e\d+\/\d+/, "e") |> String.slice(0, 200)
end

for kind <- [:wrong, :aborted] do
  IO.puts("\n#{kind}:")

  for {name, ^kind, example, answers} <- meant,
      do:
        IO.puts(
          "  #{name}: #{Macro.to_string(example.quoted)}\n    #{inspect(answers, limit: 20, printable_limit: 200)}"
        )
end

IO.puts("\nrefused, by reason:")

for {why, rows} <-
      meant
      |> Enum.filter(&(elem(&1, 1) == :refused))
      |> Enum.group_by(fn {_, _, _, {_, why}} -> reason.(why) end)
      |> Enum.sort_by(fn {_, rows} -> -length(rows) end) do
  {name, _, example, {kind, _}} = hd(rows)

  IO.puts(
    "  #{length(rows)} #{inspect(kind)} #{why}\n      #{name}: #{example.quoted |> Macro.to_string() |> String.replace("\n", " ; ") |> String.slice(0, 200)}"
  )
end
