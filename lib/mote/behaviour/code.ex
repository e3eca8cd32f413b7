defmodule Mote.Behaviour.Code do
  # One piece of code of a unit as the passes hand it on: a behaviour or a function. Data only.
  #
  # `kind` is `:actor`, `:pure` or `:effect`, for loops as for the code they came from. The parameters of a behaviour are
  # its captures and, last, the message; `arity` counts the captures only. `next` is the next free number for a
  # variable. `effects` and `becomes` are found out by the flow pass, `public` is false for lifted loops and for functions
  # of the module's own.
  @moduledoc false

  @enforce_keys [:kind, :name, :arity, :params, :body, :line]
  defstruct [:kind, :name, :arity, :params, :body, :line, :doc, :args] ++
              [next: 0, effects: false, becomes: false, public: true]

  @type t :: %__MODULE__{}

  @doc "The most parameters that a piece of code has: those of a function of the BEAM, which it becomes."
  @spec most_parameters() :: 255
  def most_parameters, do: 255
end
