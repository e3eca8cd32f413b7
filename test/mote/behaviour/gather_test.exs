defmodule Mote.Behaviour.GatherTest do
  # `gather`: a behaviour that is written in place, and waits for several messages.
  use ExUnit.Case, async: true

  import Mote.Compile, only: [error: 1, module: 1, module: 3, turn: 2]
  import Mote.Hearing

  describe "gather" do
    @sums """
    defpure add(a, b), do: a + b

    defactor sums() do
      {customer, {:sum, list, n}} ->
        total = create gather(customer, n, 0, &add/2)
        Enum.each(list, &send(total, &1))
      {customer, {:scaled, list, by}} ->
        total = create gather(customer, length(list), [], fn
          x, acc when x > 0 -> Enum.map([x | acc], &(&1 * by))
          _, acc -> acc
        end)
        Enum.each(list, &send(total, &1))
      {customer, {:count, list}} ->
        total = create gather(customer, length(list), 0, fn _, n -> n + 1 end)
        Enum.each(list, &send(total, &1))
      {customer, {:last, list}} ->
        total = create gather(customer, length(list), nil, fn x, _ -> x end)
        Enum.each(list, &send(total, &1))
      {customer, {:become, n}} -> become gather(customer, n, {0, 1}, fn x, {sum, product} -> {sum + x, product * x} end)
    end
    """

    test "puts so many reports together" do
      module = module(@sums)
      me = self()
      ask = fn request -> heard(module.sums(), [{me, request}]) end
      assert ask.({:sum, [1, 2, 3], 3}) == [6]
      assert ask.({:sum, [1, 2, 3, 4], 3}) == [6]
      assert ask.({:sum, [1, 2], 3}) == []
      assert ask.({:sum, [], 0}) == [0]
      assert ask.({:scaled, [1, -1, 2], 10}) == [[20, 100]]
      assert ask.({:count, [:a, :b]}) == [2]
      assert ask.({:last, [:a, :b]}) == [:b]
      assert heard(module.sums(), [{me, {:become, 2}}, 3, 4, 5]) == [{7, 12}]
      assert heard(module.sums(), [{me, {:become, 0}}, 3]) == [{0, 1}]
      assert turn(module.sums(), {me, {:become, 0}}).become == :sink
    end

    test "uses variables from around it, whatever they are called, in loops too" do
      module =
        module("""
        defactor a(customer, missing) do
          list ->
            x = missing + 1
            acc = x + 1
            Enum.each(list, fn x ->
              each = create gather(customer, 1, 0, fn sum, y ->
                {customer == nil, missing, acc, x, sum + y, Enum.map([1], &(&1 + x))}
              end)
              send each, x * 10
            end)
        end
        """)

      assert heard(module.a(self(), 5), [[1, 2]]) == [{false, 5, 7, 1, 10, [2]}, {false, 5, 7, 2, 20, [3]}]
    end

    test "wants a count" do
      module = module(@sums, "", :abort)

      for n <- [:a, -1, 1.0] do
        assert {:abort, {:raised, {_, 6, {:function_clause, {Mote.Behaviour, :gather}, 4}}, {^n}} = reason} =
                 turn(module.sums(), {:me, {:sum, [], n}}).outcome

        assert Mote.Raised.exception(reason) == %ArgumentError{
                 message:
                   "gather waits for a number of messages, which is an integer from 0, got: #{inspect(n)}"
               }

        assert Mote.Raised.format(reason) =~ ":6: gather waits for a number of messages"

        assert error("defactor a(x) do\n_ -> create gather(x, #{inspect(n)}, 0, &+/2)\nend") ==
                 "3: gather takes customer, count, initial, function: #{inspect(n)} is not a number of messages, which is an " <>
                   "integer from 0"
      end
    end

    test "a report that cannot be put together is lost, and the turn it came in is aborted" do
      module = module(@sums, "", :abort)
      {actor, ref} = Mote.Reference.create(Mote.Reference.new(), module.sums())
      customer = Mote.Reference.customer(:c)
      ref = ref |> Mote.Reference.send(actor, {customer, {:sum, [1, :b, 2, 3], 3}}) |> Mote.Reference.run()
      assert {ref.aborts, Mote.Reference.outside(ref)} == {%{raised: 1}, [c: 6]}
    end

    test "may have a sponsor, and a behaviour may have its name" do
      module =
        module("""
        defactor gather(a, b, c, d) do
          x -> send a, {x, b, c, d}
        end
        defactor a() do
          customer ->
            send create(gather(customer, 1, 2, 3)), :mine
            send create(gather(customer, 1, 2, &max/2), sponsor: :main), 3
        end
        """)

      assert heard(module.a(), [self()]) == [{:mine, 1, 2, 3}, 3]
    end

    test "what is wrong" do
      actor = fn code -> error("defactor a(x) do\n_ ->\n#{code}\nend") end

      assert actor.("create gather(x, 1, 0, fn a, b -> send(a, b) end)") ==
               "4: send cannot be used in the function of gather, which only puts reports together: do it where the " <>
                 "answer arrives"

      assert actor.("create gather(x, 1, 0, &(&1 + 1))") =~ "4: "

      assert actor.("create gather(:log, 1, 0, &(&1 + &2))") =~
               "4: gather takes customer, count, initial, function: :log"

      assert actor.("create gather(x, 1, 0, x)") =~ "4: undefined behaviour gather/4"

      assert actor.("case x do y when create(gather(y, 1, 0, &(&1 + &2))) -> 1 end") =~
               "4: create cannot be used in a guard"

      assert error("defpure f(x), do: create gather(x, 1, 0, &(&1 + &2))") =~
               "2: create cannot be used in a defpure"
    end
  end
end
