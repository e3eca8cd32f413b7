defmodule Mote.Behaviour.Error do
  # How every pass of the behaviour compiler reports a mistake of the user: a `CompileError` at file:line. Parts of a program that
  # have nothing to do with each other are looked at one after the other, and their errors are reported together.
  # Knows nothing of the language; the hints for single constructs are in `hints.ex`.
  @moduledoc false

  defmodule Several do
    # Mistakes on their way to `together/1`.
    @moduledoc false
    defexception [:mistakes, message: "several mistakes"]
  end

  # These are enough to help with any number of mistakes.
  @most 10

  @doc "Raises a `CompileError`; `where` is anything with a `:file`, such as a `Macro.Env`."
  @spec raise_at(%{:file => String.t(), optional(any) => any}, non_neg_integer, String.t()) ::
          no_return
  def raise_at(%{file: file}, line, description) do
    raise CompileError, file: file, line: line, description: description
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

  @doc "Runs `fun`. Raises all the mistakes that it finds as one `CompileError`, at the place of the first."
  @spec together((... -> value)) :: value when value: term
  def together(fun) do
    fun.()
  rescue
    several in Several -> raise one(several.mistakes |> Enum.uniq() |> Enum.sort_by(& &1.line))
  end

  defp one([mistake]), do: mistake

  defp one([first | others]) do
    {told, untold} = Enum.split(others, @most - 1)
    lines = Enum.map(told, &"\n  #{Path.relative_to_cwd(&1.file)}:#{&1.line}: #{&1.description}")
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

    case close do
      [] -> ""
      names -> ". Did you mean #{Enum.join(names, ", ")}?"
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
