defmodule Mote.Behaviour.ScopesTest do
  # What a name means: in each form that binds one, machines of both tiers read what Elixir reads, inside of the form, in its other
  # clauses, and behind it. Only `t` is bound outside, and each form binds it again.
  use ExUnit.Case, async: true

  @forms [
    "with <<_, t::binary>> <- t, 1 <- hd([t]), do: t, else: (_ -> t)",
    "with [t | _] <- [t], t = {t, 1}, {:a, _} <- t do t else other -> {other, t} end",
    "with {^t, u} <- {t, 2}, {t, ^u} <- {u, 2}, :no <- t do t else o -> {o, t} end",
    "with {^t, t} <- {t, 3}, :no <- t do t else o -> {o, t} end",
    "with u = 5, [u] <- [[u]], {1, u} <- u do u else t -> t end",
    "with t when t == 1 <- 1, [] <- t do t else x when x == 1 -> {x, t} end",
    "with t <- [t], t <- [t], 3 <- t do 1 else [[u]] -> {u, t} end",
    "with %{^t => u} <- %{t => 1}, t = u, 2 <- t, do: t, else: (1 -> t)",
    "with {:ok, t} <- {:ok, [t]}, {:ok, _} <- with({:no, t} <- {:no, t}, do: {t, 1}), do: t, else: (x -> {x, t})",
    "with <<a::binary-size(1), u::binary>> when u != t <- \"ab\", u = {u}, :no <- u do {a, t} else u -> {u, t} end",
    "(n = 1; with <<a::binary-size(n), _::binary>> when n == 1 <- \"ab\", :no <- a do t else a -> {a, n, t} end)",
    "(with {:ok, t} <- t do t else _ -> t end; t)",
    "(with t <- {t}, do: t; t)",
    "(try do t = {t}; throw(t) catch x -> {x, t} end)",
    "(try do t = {t}; hd(t) rescue _ -> t end)",
    "(try do t = {t}; throw(t) catch x -> {x, t} after t = 1; t end)",
    "(try do t = {t}; t else x -> {x, t} end)",
    "(for(t <- [1], do: t) ++ [t])",
    "for t <- [t, t], t = {t}, do: t",
    "(for t <- [[1], [2]], t <- t, do: t) ++ [t]",
    "(for <<t <- \"ab\">>, do: t) ++ [t]",
    "for(x <- [1, 2], reduce: t, do: (t -> t = {t, x}; t)) |> then(&{&1, t})",
    "(case t do t when t == 1 -> 2; t -> {t} end; t)",
    "(if (t = {t}) do t end; t)",
    "(if t do t = 1; t end; t)",
    "((t = {t}) && t; t)",
    "(t && (t = 1); t)",
    "(cond do t = nil -> t; t = 5 -> t end; t)",
    "(f = fn t -> t = {t}; t end; {f.(1), t})",
    "Enum.map([1, 2], fn x -> t = {t, x}; t end) ++ [t]",
    "Enum.find_value([1, 2], fn x -> t = x; t == 2 && t end) |> then(&{&1, t})",
    "(tap(t, fn t -> t = 1; t end); t)"
  ]

  test "a name is what it is in Elixir" do
    machines = for tier <- [:interp, :native], do: start_supervised!({Mote, tier: tier, id: make_ref()})

    for {form, i} <- Enum.with_index(@forms) do
      module = Module.concat(__MODULE__, "Form#{i}")

      ExUnit.CaptureIO.capture_io(:stderr, fn ->
        Code.compile_string("""
        defmodule #{inspect(module)} do
          use Mote.Behaviour
          defpure value(t), do: (#{form})
          defactor server(), do: ({customer, t} -> send customer, value(t))
        end
        """)
      end)

      for machine <- machines, t <- ["abc", 1, nil] do
        {elixir, _} = ExUnit.CaptureIO.with_io(:stderr, fn -> elem(Code.eval_string(form, t: t), 0) end)
        assert {form, t, Mote.ask!(Mote.create(machine, module.server()), t)} == {form, t, elixir}
        assert module.value(t) == elixir
      end
    end
  end
end
