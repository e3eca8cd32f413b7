defmodule Mote.Behaviour.Error do
  # How every pass of the behaviour compiler reports a mistake of the user: a `CompileError` at file:line.
  # Knows nothing of the language; the hints for single constructs are in `hints.ex`.
  @moduledoc false

  @doc "Raises a `CompileError`; `where` is anything with a `:file`, such as a `Macro.Env`."
  @spec raise_at(%{:file => String.t(), optional(any) => any}, non_neg_integer, String.t()) ::
          no_return
  def raise_at(%{file: file}, line, description) do
    raise CompileError, file: file, line: line, description: description
  end

  @doc "The names among `known` that look like `name`, as a sentence to append, or an empty string."
  @spec suggestion(String.t(), [String.t()]) :: String.t()
  def suggestion(name, known) do
    close =
      known
      |> Enum.uniq()
      |> Enum.map(&{String.jaro_distance(bare(name), bare(&1)), &1})
      |> Enum.filter(fn {distance, other} -> distance > 0.77 and other != name end)
      |> Enum.sort(:desc)
      |> Enum.take(3)
      |> Enum.map(&elem(&1, 1))

    case close do
      [] -> ""
      names -> ". Did you mean #{Enum.join(names, ", ")}?"
    end
  end

  # "sum/2" is as near to "sun/2" as "sum" is to "sun": the arity must not blur the comparison.
  defp bare(name), do: name |> String.split("/") |> hd()
end
