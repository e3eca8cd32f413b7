defmodule Mote.Behaviour.Code do
  # One piece of a unit's code, as the passes hand it on: a behaviour or a function. Data only.
  #
  # `kind` is `:actor`, `:pure` or `:effect`, for loops as for the code they came from. The parameters of a behaviour are
  # its captures and, last, the message; `arity` counts the captures only. `next` is the next free number for a
  # variable. `effects` and `becomes` are found out by the flow pass, `public` is false for lifted loops and for functions
  # of the module's own. `beam` says of a behaviour that its turns may call any Elixir; its code here only says that they cannot
  # run where they are. `marks` are attributes such as `@deprecated`, which the Elixir function gets. `origin` is `{module, name}` of
  # what was written in plain Elixir (imports.ex). `change` says of a behaviour that only actors of an older version are it
  # (changes.ex).
  @moduledoc false

  @enforce_keys [:kind, :name, :arity, :params, :body, :line]
  defstruct [:kind, :name, :arity, :params, :body, :line, :doc, :args, :origin] ++
              [marks: [], next: 0, effects: false, becomes: false, public: true, beam: false, change: false]

  @type t :: %__MODULE__{}

  @doc """
  A function as it was written. The clauses of a `defdirectory` are a function that has the key besides (directory.ex).
  """
  @spec written({atom, arity}) :: {atom, arity}
  def written({name, arity} = function) do
    case name |> Atom.to_string() |> String.split(" ") do
      [directory, "start"] -> {String.to_existing_atom(directory), arity - 1}
      _ -> function
    end
  end

  @doc "The most parameters that a piece of code has: those of a function of the BEAM, which it becomes."
  @spec most_parameters() :: 255
  def most_parameters, do: 255
end
