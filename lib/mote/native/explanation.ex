defmodule Mote.Native.Explanation do
  # Remarks about the native code of a module, by line of its source. The code generator makes the remarks
  # (native/mote_jit/src/remarks.rs), and the lines come from the compiler of behaviours.
  @moduledoc false

  @type remark :: %{line: pos_integer, in: {atom, arity}, operation: atom | {:parameter, atom}, note: note}
  @type note :: :asks | :takes_for_integer | :takes_for_float | :finds_out

  @doc """
  The operations of a module that native code does not simply compute, in the order of their lines.

  Each is a map with

    * `:line`: its line in the source;
    * `:in`: name and arity of the function or behaviour. A loop is a function of its own, named after where it is;
    * `:operation`: the primitive, as [the IR](ir.md) names it, or `{:parameter, name}` of a loop, which holds for all of its
      rounds. Of a function with several clauses, `:arg2` is the second parameter;
    * `:note`: what there is to say about it:
      * `:asks`: a helper computes it, in 5 ns or more;
      * `:takes_for_integer`: an operand of unknown type is taken for an integer, because of what is added to it or
        multiplied with it. If it is a float, the rest of the round or of the turn is slow code;
      * `:takes_for_float`: the same the other way round;
      * `:finds_out`: the operands may be integers or floats, which is found out each time, in 1 or 2 ns.

  An operation that is not listed is in line, on operands whose types are known or tested once. The list says what the
  compiler expects; it is the same in each machine.

  Raises `ArgumentError` if the module has no behaviours or functions of Mote.
  """
  @spec explain(module) :: [remark]
  def explain(module) do
    unless Code.ensure_loaded?(module) and function_exported?(module, :__mote__, 1) do
      raise ArgumentError, "#{inspect(module)} is no module with behaviours: it does not use Mote.Behaviour"
    end

    {functions, behaviours} = :erlang.binary_to_term(module.__mote__(:lines))
    codes = List.to_tuple(functions ++ behaviours)

    case Mote.Native.unit_remarks(module.__mote__(:unit)) do
      {:error, text} -> raise ArgumentError, "the code of #{inspect(module)} cannot be read: #{text}"
      remarks -> remarks |> Enum.map(&remark(&1, codes)) |> Enum.uniq() |> Enum.sort_by(&{&1.line, &1.in})
    end
  end

  defp remark({code, {operation, at}, note}, codes) do
    {name, _, _, lines} = elem(codes, code)
    # There are some hundred primitives, so these atoms are few.
    %{line: Enum.at(lines, at, 0), in: name, operation: String.to_atom(operation), note: note}
  end

  defp remark({code, parameter, note}, codes) do
    {name, line, parameters, _} = elem(codes, code)
    %{line: line, in: name, operation: {:parameter, Enum.at(parameters, parameter)}, note: note}
  end
end
