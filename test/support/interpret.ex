defmodule Mote.Interpret do
  @moduledoc """
  Runs the IR of a unit in Elixir: a second opinion on what the plain Elixir version of a behaviour does.

  Only for tests. It follows guides/ir.md instruction by instruction, with `Mote.Total` for the primitives and the
  staging of `Mote.Turn`; it checks nothing and is slow.
  """

  alias Mote.{Behaviour, Disassemble, Total, Turn}
  alias Mote.Turn.Stage

  @doc "As `Mote.Behaviour.turn/3`, from the unit."
  def turn(%Behaviour{module: module, name: name, captures: captures}, message, opts \\ []) do
    code = behaviour(module, name, tuple_size(captures))
    registers = Tuple.to_list(captures) ++ [message]
    Turn.run(fn -> run(code, registers) end, opts)
  end

  @doc "A function of a unit, called from outside; raises `Mote.Abort`."
  def call(module, name, args) do
    run(function(module, name, length(args)), args)
  catch
    :throw, {Stage, reason} -> raise Mote.Abort, reason: reason
  end

  defp behaviour(module, name, captures), do: find(module, :behaviours, name, captures)
  defp function(module, name, arity), do: find(module, :functions, name, arity)

  @doc "Lets go of what this process has kept of a module."
  def forget(module), do: Process.delete({__MODULE__, module})

  defp find(module, kind, name, arity), do: Map.fetch!(table(module), {kind, name, arity})

  # A process that asks once asks again.
  defp table(module) do
    hash = module.__mote__(:hash)

    case Process.get({__MODULE__, module}) do
      {^hash, table} ->
        table

      _ ->
        table = new_table(module)
        Process.put({__MODULE__, module}, {hash, table})
        table
    end
  end

  defp new_table(module) do
    unit = Disassemble.unit(module.__mote__(:unit))

    for kind <- [:functions, :behaviours], c <- unit[kind], into: %{} do
      code = c.code |> Enum.with_index(&placed(&1, c.sites[&2])) |> List.to_tuple()
      {{kind, c.name, c.arity}, code}
    end
  end

  defp placed({:call, d, f, os}, where) when where != nil, do: {:call, d, f, os, where}
  defp placed(instruction, nil), do: instruction

  defp run(code, args) do
    registers = args |> Enum.with_index() |> Map.new(fn {value, n} -> {n, value} end)
    step(code, 0, registers)
  end

  defp step(code, at, r) do
    case elem(code, at) do
      {:move, {:d, d}, o} ->
        next(code, at, put(r, d, get(r, o)))

      {:op, {:d, d}, :captured, [f, i]} ->
        {_, captures} = made(get(r, f))
        next(code, at, put(r, d, elem(captures, get(r, i))))

      {:op, {:d, d}, p, os} ->
        next(code, at, put(r, d, apply(Total, p, all(r, os))))

      {:guard_op, {:d, d}, p, os, {:l, l}} ->
        guard(Total.answer(p, all(r, os)), code, at, r, d, l)

      {:tuple, {:d, d}, os} ->
        next(code, at, put(r, d, List.to_tuple(all(r, os))))

      {:cons, {:d, d}, h, t} ->
        next(code, at, put(r, d, [get(r, h) | get(r, t)]))

      {:self, {:d, d}} ->
        next(code, at, put(r, d, Stage.me()))

      {:call, {:d, d}, f, os} ->
        next(code, at, put(r, d, call_function(f, all(r, os))))

      {:call, {:d, d}, f, os, where} ->
        args = all(r, os)
        next(code, at, put(r, d, told(where, List.to_tuple(args), fn -> call_function(f, args) end)))

      {:try, {:d, failed}} ->
        {:call, {:d, d}, f, os} = elem(code, at + 1)
        {value, reason} = attempt(f, all(r, os))
        step(code, at + 3, r |> put(d, value) |> put(failed, reason))

      {:tail_call, f, os} ->
        call_function(f, all(r, os))

      {:fun, {:d, d}, {module, name, arity}, os} ->
        next(code, at, put(r, d, made(arity - 1, {{module, name, arity}, List.to_tuple(all(r, os))})))

      {:call_fun, {:d, d}, f, os, place} ->
        next(code, at, put(r, d, call_value(get(r, f), all(r, os), get(r, place))))

      {:tail_call_fun, f, os, place} ->
        call_value(get(r, f), all(r, os), get(r, place))

      {:return, o} ->
        get(r, o)

      {:jump, {:l, l}} ->
        step(code, l, r)

      {:branch, o, {:l, l}} ->
        goto(get(r, o) === true, code, at, r, l)

      {:falsy, o, {:l, l}} ->
        goto(get(r, o) not in [nil, false], code, at, r, l)

      {:match, a, b, {:l, l}} ->
        goto(Total.same(get(r, a), get(r, b)), code, at, r, l)

      {:match_tuple, o, n, {:d, d}, {:l, l}} ->
        tuple(get(r, o), n, code, at, r, d, l)

      {:match_cons, o, {:d, h}, {:d, t}, {:l, l}} ->
        cons(get(r, o), code, at, r, h, t, l)

      {:create, {:d, d}, b, os} ->
        next(code, at, put(r, d, Stage.create(behaviour_of(b, all(r, os)))))

      {:create_on, {:d, d}, b, os, s} ->
        next(code, at, put(r, d, Stage.create(behaviour_of(b, all(r, os)), get(r, s))))

      {:send, a, b} ->
        effect(Stage.send(get(r, a), get(r, b)), code, at, r)

      {:sendx, a, b, c} ->
        effect(Stage.sendx(get(r, a), get(r, b), get(r, c)), code, at, r)

      {:send_after, {:d, d}, a, b, c} ->
        next(code, at, put(r, d, Stage.send_after(get(r, a), get(r, b), get(r, c))))

      {:cancel_timer, {:d, d}, a} ->
        next(code, at, put(r, d, Stage.cancel_timer(get(r, a))))

      {:become, b, os} ->
        effect(Stage.become(behaviour_of(b, all(r, os))), code, at, r)

      {:become_sink} ->
        effect(Stage.become(:sink), code, at, r)

      {:abort, o} ->
        Stage.abort(get(r, o))

      {:done} ->
        :commit

      {:ignore} ->
        :ignored
    end
  end

  defp next(code, at, r), do: step(code, at + 1, r)
  defp effect(_, code, at, r), do: step(code, at + 1, r)
  defp goto(true, code, at, r, _), do: step(code, at + 1, r)
  defp goto(false, code, _, r, l), do: step(code, l, r)

  defp guard({:ok, value}, code, at, r, d, _), do: next(code, at, put(r, d, value))
  defp guard(:none, code, _, r, _, l), do: step(code, l, r)

  defp tuple(value, n, code, at, r, d, _) when tuple_size(value) == n do
    r = value |> Tuple.to_list() |> Enum.with_index(d) |> Enum.reduce(r, fn {v, n}, r -> put(r, n, v) end)
    next(code, at, r)
  end

  defp tuple(_, _, code, _, r, _, l), do: step(code, l, r)

  defp cons([head | tail], code, at, r, h, t, _), do: next(code, at, r |> put(h, head) |> put(t, tail))
  defp cons(_, code, _, r, _, _, l), do: step(code, l, r)

  defp call_function({module, name, arity}, args), do: run(function(module, name, arity), args)

  # Nothing else than what Elixir would raise is caught.
  defp attempt(function, args) do
    mark = Stage.mark()

    try do
      {call_function(function, args), false}
    catch
      :throw, {Stage, {:raised, _, _} = reason} ->
        Stage.undo(mark)
        {:undefined, reason}
    end
  end

  # A function that is a value, as one of Elixir of so many arguments, which only says what it is.
  defp made(0, what), do: fn -> what end
  defp made(1, what), do: fn _ -> what end
  defp made(2, what), do: fn _, _ -> what end
  defp made(3, what), do: fn _, _, _ -> what end
  defp made(4, what), do: fn _, _, _, _ -> what end

  defp made(f) do
    {:arity, arity} = Function.info(f, :arity)
    apply(f, List.duplicate(nil, arity))
  end

  defp call_value(f, args, _) when is_function(f, length(args)) do
    {function, _} = made(f)
    call_function(function, [f | args])
  end

  defp call_value(f, args, place) do
    told = if is_function(f), do: {f, args}, else: {f}

    case {place, told} do
      {where, _} when is_tuple(where) -> Stage.abort({:raised, where, told})
      {_, {alone}} -> Stage.abort({place, alone})
      _ -> Stage.abort({place, told})
    end
  end

  # An abort that tells of what failed in a function of the library tells of its call instead.
  defp told(where, arguments, fun) do
    fun.()
  catch
    :throw, {Stage, {:raised, _, _}} -> Stage.abort({:raised, where, arguments})
  end

  # A sink that was created is a behaviour of the unit here, and nothing at all in plain Elixir.
  defp behaviour_of({_, :sink, 0}, []), do: :sink
  defp behaviour_of({module, name, _}, args), do: apply(module, name, args)

  defp all(r, os), do: Enum.map(os, &get(r, &1))
  defp get(r, {:r, n}), do: Map.fetch!(r, n)
  defp get(_, {:k, value}), do: value
  defp put(r, n, value), do: Map.put(r, n, value)
end
