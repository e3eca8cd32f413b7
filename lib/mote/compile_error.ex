defmodule Mote.CompileError do
  @moduledoc """
  A mistake in the behaviours of a module: what is wrong, where, and what to write instead.

  Up to ten mistakes are reported at once, each with its file, line and column. The fields are those of the
  first one; `description` covers all of them. The column is present if the parser keeps columns, which later
  releases of Elixir do by themselves and earlier ones with `Code.put_compiler_option(:parser_options,
  columns: true)`.
  """

  defexception [:file, :line, :column, description: "compile error"]

  @type t :: %__MODULE__{
          file: String.t(),
          line: non_neg_integer,
          column: pos_integer | nil,
          description: String.t()
        }

  @impl true
  def message(%{description: description} = error), do: "#{place(error)}: #{description}"

  @doc "Returns the place, as `file:line:column`, or `file:line` without a column."
  @spec place(t) :: String.t()
  def place(%{file: file, line: line, column: column}) do
    [Path.relative_to_cwd(file), line, column] |> Enum.reject(&is_nil/1) |> Enum.join(":")
  end
end
