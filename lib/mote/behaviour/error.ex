defmodule Mote.Behaviour.Error do
  # How every pass of the behaviour compiler reports a mistake of the user: a `Mote.CompileError` at
  # file:line:column. Independent parts of a program are checked one by one, and their errors are reported
  # together. Knows nothing of the language; the hints for single constructs are in `hints.ex`.
  @moduledoc false

  alias Mote.CompileError

  @typedoc "The columns of variables and calls by their lines and names, as far as the code says where they are."
  @type columns :: %{{line :: non_neg_integer, named} => pos_integer}
  @type named :: atom | {:call, atom}

  defmodule Several do
    # Mistakes on their way to `together/1`.
    @moduledoc false
    defexception [:mistakes, message: "several mistakes"]
  end

  # These are enough to help with any number of mistakes.
  @most 10

  @doc """
  Raises a `Mote.CompileError`; `where` is anything with a `:file`. The column is that of `named` in its `:columns`, or
  that of an environment, for the line of the environment.
  """
  @spec raise_at(%{:file => String.t(), optional(any) => any}, non_neg_integer, String.t(), named | nil) ::
          no_return
  def raise_at(%{file: file} = where, line, description, named \\ nil) do
    raise CompileError, file: file, line: line, column: column(where, line, named), description: description
  end

  defp column(%{columns: columns}, line, named), do: columns[{line, named}]
  defp column(%{column: column, line: line}, line, _), do: column
  defp column(_, _, _), do: nil

  @doc "An environment at the place of a node."
  @spec at(Macro.Env.t(), keyword) :: Macro.Env.t()
  def at(env, meta) do
    case Keyword.get(meta, :line) do
      nil -> env
      # An environment has no field for the column; what Elixir does with it does not mind one more.
      line -> Map.put(%{env | line: line}, :column, Keyword.get(meta, :column))
    end
  end

  @doc "Returns the places of the variables and calls of some code. Of several of one name in one line, the first counts."
  @spec columns(Macro.t()) :: columns
  def columns(ast) do
    {_, columns} =
      Macro.prewalk(ast, %{}, fn
        {name, meta, context} = node, columns when is_atom(name) and is_atom(context) ->
          {node, noted(columns, name, meta)}

        {name, meta, args} = node, columns when is_atom(name) and is_list(args) ->
          {node, noted(columns, {:call, name}, meta)}

        {{:., _, [_module, name]}, meta, _args} = node, columns when is_atom(name) ->
          {node, noted(columns, {:call, name}, meta)}

        node, columns ->
          {node, columns}
      end)

    columns
  end

  defp noted(columns, named, meta) do
    if meta[:column], do: Map.put_new(columns, {meta[:line], named}, meta[:column]), else: columns
  end

  @doc "`fun` of each item. Raises the mistakes in all of them."
  @spec map([item], (item -> value)) :: [value] when item: term, value: term
  def map(items, fun) do
    {values, nil} = map_reduce(items, nil, &{fun.(&1), &2})
    values
  end

  @doc "As `Enum.map_reduce/3`. Raises the mistakes in all items; of one with a mistake, `wrong` makes the next accumulator."
  @spec map_reduce([item], acc, (item, acc -> {value, acc}), (item, acc -> acc)) :: {[value], acc}
        when item: term, value: term, acc: term
  def map_reduce(items, acc, fun, wrong \\ fn _item, acc -> acc end) do
    {values, {acc, mistakes}} =
      Enum.map_reduce(items, {acc, []}, fn item, {acc, mistakes} ->
        try do
          {value, acc} = fun.(item, acc)
          {value, {acc, mistakes}}
        rescue
          mistake in CompileError -> {nil, {wrong.(item, acc), [mistake | mistakes]}}
          several in Several -> {nil, {wrong.(item, acc), Enum.reverse(several.mistakes) ++ mistakes}}
        end
      end)

    if mistakes != [], do: raise(Several, mistakes: Enum.reverse(mistakes))
    {values, acc}
  end

  @doc "Runs `fun`. Raises all the mistakes that it finds as one `Mote.CompileError`, at the place of the first."
  @spec together((... -> value)) :: value when value: term
  def together(fun) do
    fun.()
  rescue
    several in Several -> raise one(several.mistakes |> Enum.uniq() |> Enum.sort_by(&{&1.line, &1.column}))
  end

  defp one([mistake]), do: mistake

  defp one([first | others]) do
    {told, untold} = Enum.split(others, @most - 1)
    lines = Enum.map(told, &"\n  #{Exception.message(&1)}")
    more = if untold == [], do: "", else: "\n  and #{length(untold)} more"
    %{first | description: "#{first.description}#{lines}#{more}"}
  end

  @doc "The names among `known` that look like `name`, as a sentence to append, or an empty string."
  @spec suggestion(String.t(), [String.t()]) :: String.t()
  def suggestion(name, known) do
    close =
      known
      |> Enum.uniq()
      |> Enum.map(&{likeness(bare(name), bare(&1)), arity(&1) == arity(name), &1})
      |> Enum.filter(fn {distance, _, other} -> distance > 0.77 and other != name end)
      |> Enum.sort(:desc)
      |> Enum.take(3)
      |> Enum.map(&elem(&1, 2))

    case Enum.split(close, -1) do
      {[], []} -> ""
      {[], [name]} -> ". Did you mean #{name}?"
      {names, [last]} -> ". Did you mean #{Enum.join(names, ", ")} or #{last}?"
    end
  end

  # Short names are not much alike by their distance when two letters have changed places.
  defp likeness(one, other) do
    [letters, others] = Enum.map([one, other], &(&1 |> String.to_charlist() |> Enum.sort()))
    if letters == others, do: 1.0, else: String.jaro_distance(one, other)
  end

  # Of several that are as near, one with as many arguments comes first.
  defp arity(name), do: name |> String.split("/") |> List.last()

  # "sum/2" is as near to "sun/2" as "sum" is to "sun": neither the arity nor the module may blur the comparison.
  defp bare(name), do: name |> String.split("/") |> hd() |> String.split(".") |> List.last()
end
